// The FIFO of a doorbell, seen from either end.
#ifndef HOLDFAST_PLATFORM_POSIX_FIFO_H_
#define HOLDFAST_PLATFORM_POSIX_FIFO_H_

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

// Opens `name` with `access` (O_RDWR or O_WRONLY), never waiting and never following a link.
// kClosed: there is none, or (O_WRONLY) nobody reads from it. kNoAccess: not a FIFO of ours.
Result<UniqueFd> OpenFifo(int directory, const char* name, int access);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_FIFO_H_
