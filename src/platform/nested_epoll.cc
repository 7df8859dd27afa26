#include "platform/nested_epoll.h"

#include <sys/epoll.h>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

// An epoll instance wakes its pollers itself, and does not pass on the waker's hint.
Result<UniqueFd> OpenNestedEpoll(int fd) {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return OsError("cannot create an epoll instance");
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == -1) {
    return OsError("cannot relay a descriptor");
  }
  return epoll;
}

}  // namespace platform
}  // namespace holdfast
