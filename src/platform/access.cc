#include "platform/access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

constexpr mode_t kPermissionBits = 07777;
constexpr uint64_t kStatBlockBytes = 512;  // whatever the file system's own block is

Status RefuseFile(const char* reason, int error = 0) {
  return {StatusCode::kNoAccess, reason, error};
}

Status Gone() { return {StatusCode::kClosed, "the segment file is not there", ENOENT}; }

Status WhyNot(int error) {
  switch (error) {
    case ENOENT:
      return Gone();
    case ELOOP:
      return RefuseFile("a symbolic link is in the place of the segment file; remove it", error);
    case EISDIR:
      return RefuseFile("a directory is in the place of the segment file; remove it", error);
    case ENXIO:
      return RefuseFile("a socket or a device is in the place of the segment file; remove it",
                        error);
    default:
      return OsError("cannot open the segment file; check its owner and mode", error);
  }
}

Status CheckFile(const struct stat& found) {
  if (!S_ISREG(found.st_mode)) {
    return RefuseFile(
        "something that is no regular file has the name of the segment file; remove it");
  }
  if (found.st_uid != geteuid()) {
    return RefuseFile("the segment file belongs to another user; remove it");
  }
  if ((found.st_mode & kPermissionBits) != (S_IRUSR | S_IWUSR)) {
    return RefuseFile("the mode of the segment file is not 0600; find out why, then remove it");
  }
  if (found.st_nlink == 0) return Gone();
  if (found.st_nlink > 1) {
    return RefuseFile("the segment file has further hard links; find out why, then remove it");
  }
  return {};
}

}  // namespace

Result<PrivateFile> OpenPrivateFile(int directory, const char* name) {
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }));
  if (!fd) return WhyNot(errno);
  struct stat found {};
  if (fstat(fd.get(), &found) == -1) return OsError("cannot examine the segment file");
  const Status checked = CheckFile(found);
  if (!checked.ok()) return checked;
  return PrivateFile{.fd = std::move(fd),
                     .size = static_cast<uint64_t>(found.st_size),
                     .allocated = static_cast<uint64_t>(found.st_blocks) * kStatBlockBytes};
}

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
