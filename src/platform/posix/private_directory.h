// Directories that belong to the effective user alone.
#ifndef HOLDFAST_PLATFORM_POSIX_PRIVATE_DIRECTORY_H_
#define HOLDFAST_PLATFORM_POSIX_PRIVATE_DIRECTORY_H_

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

// Creates the directory if it is missing, then opens it. `path` is relative to the open directory
// `parent` (or AT_FDCWD) and ends in a file name; links are followed except in its last part.
// kNoAccess: a link, something else than a directory, another owner, or rights for others.
Result<UniqueFd> OpenPrivateDirectory(int parent, const char* path);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_PRIVATE_DIRECTORY_H_
