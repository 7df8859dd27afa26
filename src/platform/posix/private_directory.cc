#include "platform/posix/private_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix/os_error.h"
#include "platform/posix/retry.h"

namespace holdfast {
inline namespace platform {
namespace {

Status RefuseDirectory(const char* reason) { return {StatusCode::kNoAccess, reason}; }

Status CheckDirectory(const struct stat& found) {
  if (S_ISLNK(found.st_mode)) {
    return RefuseDirectory(
        "the bucket directory is a symbolic link; name the place that it leads to");
  }
  if (!S_ISDIR(found.st_mode)) {
    return RefuseDirectory(
        "something that is no directory has the name of the bucket directory; remove it");
  }
  if (found.st_uid != geteuid()) {
    return RefuseDirectory(
        "the bucket directory belongs to another user; choose another directory");
  }
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return RefuseDirectory(
        "the bucket directory is open to group or others; chmod 700, or choose another");
  }
  if ((found.st_mode & S_IRWXU) != S_IRWXU) {
    return RefuseDirectory(
        "the bucket directory lacks rights of its owner; chmod 700, check the umask");
  }
  return {};
}

// Finds out why a directory cannot be opened.
Status WhyNot(int parent, const char* path, int error) {
  struct stat found {};
  if (fstatat(parent, path, &found, AT_SYMLINK_NOFOLLOW) == 0) {
    const Status refused = CheckDirectory(found);
    if (!refused.ok()) return refused;
  }
  return OsError("cannot open the bucket directory", error);
}

}  // namespace

Result<UniqueFd> OpenPrivateDirectory(int parent, const char* path) {
  if (mkdirat(parent, path, S_IRWXU) == -1 && errno != EEXIST) {
    if (errno != ENOENT) return OsError("cannot make the bucket directory");
    return Status(StatusCode::kNoAccess,
                  "the place for the bucket directory does not exist; make it first", ENOENT);
  }
  UniqueFd directory(RetryOnEintr([&] {
    return openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
  }));
  if (!directory) return WhyNot(parent, path, errno);
  struct stat found {};
  if (fstat(directory.get(), &found) == -1) return OsError("cannot examine the bucket directory");
  const Status checked = CheckDirectory(found);
  if (!checked.ok()) return checked;
  return directory;
}

}  // namespace platform
}  // namespace holdfast
