#include "platform/os_error.h"

#include <cerrno>

namespace holdfast {
inline namespace platform {

Status OsError(const char* reason, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return {StatusCode::kNoSpace,
              "the file system of the bucket is full; make room there, or choose another directory",
              error};
    case EFBIG:
      return {StatusCode::kNoSpace,
              "the file size limit is below the size of the segment; raise it (ulimit -f)", error};
    case ENOMEM:
      return {StatusCode::kNoSpace,
              "no memory is left on this machine or in this container; raise the limit of the "
              "container or of its cgroup",
              error};
    case EMFILE:
    case ENFILE:
      return {StatusCode::kTooManyFiles, "too many open files; raise the limit (ulimit -n)", error};
    case EACCES:
    case EPERM:
    case EROFS:
      return {StatusCode::kNoAccess, reason, error};
    case ENAMETOOLONG:
      return {StatusCode::kInvalidArgument, reason, error};
    default:
      return {StatusCode::kOsError, reason, error};
  }
}

Status OsError(const char* reason) { return OsError(reason, errno); }

}  // namespace platform
}  // namespace holdfast
