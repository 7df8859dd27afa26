#include "platform/bucket_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "platform/file_system.h"
#include "platform/posix/file_name.h"
#include "platform/posix/os_error.h"
#include "platform/posix/private_directory.h"

namespace holdfast {
inline namespace platform {
namespace {

// The path without an ending that makes the kernel follow a link in its last part ("link/",
// "link/.").
Result<std::string> WithoutTail(const std::string& directory) {
  const size_t end = directory.find_last_not_of('/');
  std::string path = directory.substr(0, end == std::string::npos ? 0 : end + 1);
  if (IsFileName(path.substr(path.rfind('/') + 1)) && path.find('\0') == std::string::npos) {
    return path;
  }
  return Status(StatusCode::kInvalidArgument,
                "the directory of the buckets is not a path that ends in a name");
}

}  // namespace

Result<BucketDirectory> BucketDirectory::Open(const std::string& directory,
                                              const std::string& bucket) {
  const Result<std::string> path = WithoutTail(directory);
  if (!path.ok()) return path.status();
  if (!IsFileName(bucket)) {
    return Status(StatusCode::kInvalidArgument, "the name of the bucket is not a file name");
  }
  const Result<UniqueFd> parent = OpenPrivateDirectory(AT_FDCWD, path->c_str());
  if (!parent.ok()) return parent.status();
  Result<UniqueFd> child = OpenPrivateDirectory(parent->get(), bucket.c_str());
  if (!child.ok()) return child.status();
  const Status file_system = CheckFileSystem(child->get());
  if (!file_system.ok()) return file_system;
  return BucketDirectory(*std::move(child));
}

Status BucketDirectory::Unlink(const std::string& name) const {
  if (!IsFileName(name)) return {StatusCode::kInvalidArgument, "not the name of a file"};
  if (unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return OsError("cannot remove a file of the bucket");
}

}  // namespace platform
}  // namespace holdfast
