// Regular files that belong to the effective user alone.
#ifndef HOLDFAST_PLATFORM_POSIX_PRIVATE_FILE_H_
#define HOLDFAST_PLATFORM_POSIX_PRIVATE_FILE_H_

#include <cstdint>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

struct PrivateFile {
  UniqueFd fd;
  uint64_t size;
  uint64_t allocated;  // allocated bytes, anywhere in the file
};

// Opens the file `name` for reading and writing without following a link or waiting for anything.
// kClosed: there is none, or it was removed just now. kNoAccess: not a regular file, another owner,
// a mode other than 0600, more than one link.
Result<PrivateFile> OpenPrivateFile(int directory, const char* name);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_PRIVATE_FILE_H_
