#include "platform/posix/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/posix/os_error.h"
#include "platform/posix/retry.h"

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

}  // namespace platform
}  // namespace holdfast
