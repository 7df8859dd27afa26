// Directories that belong to the effective user alone.
#ifndef HOLDFAST_PLATFORM_POSIX_PRIVATE_DIRECTORY_H_
#define HOLDFAST_PLATFORM_POSIX_PRIVATE_DIRECTORY_H_

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

// Makes the directory unless it is there, then opens it. `path` counts from the open directory
// `parent` (or AT_FDCWD), ends in a file name, and is followed up to that but not through it.
// kNoAccess: a link, something else than a directory, another owner, or rights for others.
Result<UniqueFd> OpenPrivateDirectory(int parent, const char* path);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_PRIVATE_DIRECTORY_H_
