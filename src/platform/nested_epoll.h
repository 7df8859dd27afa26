// A descriptor that is readable while another one is.
//
// A write to a FIFO wakes the reader with the kernel's synchronous wake-up: on the writer's CPU,
// although another one is idle. A sleeper on a nested epoll is woken without that hint.
// docs/decisions/0017-adaptive-spinning.md
#ifndef HOLDFAST_PLATFORM_NESTED_EPOLL_H_
#define HOLDFAST_PLATFORM_NESTED_EPOLL_H_

#include "platform/fd.h"
#include "platform/result.h"

namespace holdfast {
inline namespace platform {

// For polling alone.
Result<UniqueFd> OpenNestedEpoll(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_NESTED_EPOLL_H_
