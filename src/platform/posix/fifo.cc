#include "platform/posix/fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix/os_error.h"
#include "platform/posix/retry.h"

namespace holdfast {
inline namespace platform {

Result<UniqueFd> OpenFifo(int directory, const char* name, int access) {
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory, name, access | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  }));
  if (!fd && (errno == ENOENT || errno == ENXIO)) {
    return Status(StatusCode::kClosed, "the owner of the doorbell has gone", errno);
  }
  if (!fd && (errno == ELOOP || errno == EISDIR)) {
    return Status(StatusCode::kNoAccess, "what has the name of a doorbell is none; remove it",
                  errno);
  }
  if (!fd) return OsError("cannot open a doorbell");
  struct stat found {};
  if (fstat(fd.get(), &found) == -1) return OsError("cannot examine a doorbell");
  if (!S_ISFIFO(found.st_mode) || found.st_uid != geteuid()) {
    return Status(StatusCode::kNoAccess, "what has the name of a doorbell is none; remove it");
  }
  return fd;
}

}  // namespace platform
}  // namespace holdfast
