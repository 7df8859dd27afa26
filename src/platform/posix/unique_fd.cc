#include "platform/unique_fd.h"

#include <unistd.h>

#include <cerrno>

namespace holdfast {
inline namespace platform {

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old < 0) return;
  const int saved = errno;
  // Not repeated after EINTR: Linux has closed it then, and another thread may have the number.
  close(old);
  errno = saved;
}

}  // namespace platform
}  // namespace holdfast
