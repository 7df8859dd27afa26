#include "platform/duplicate.h"

#include <fcntl.h>

#include "platform/posix/os_error.h"

namespace holdfast {
inline namespace platform {

Result<UniqueFd> Duplicate(int fd) {
  // Above the standard streams: a caller may give it to a child under its own number.
  constexpr int kFirstFree = 3;
  UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  if (!copy) return OsError("cannot duplicate a descriptor");
  return copy;
}

}  // namespace platform
}  // namespace holdfast
