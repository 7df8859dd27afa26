// Regular files and directories that belong to the effective user alone.
#ifndef HOLDFAST_PLATFORM_ACCESS_H_
#define HOLDFAST_PLATFORM_ACCESS_H_

#include <cstdint>
#include <string_view>

#include "platform/fd.h"
#include "platform/result.h"

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

// Creates the directory if it is missing, then opens it. `path` is relative to the open directory
// `parent` (or AT_FDCWD) and ends in a file name; links are followed except in its last part.
// kNoAccess: a link, something else than a directory, another owner, or rights for others.
Result<UniqueFd> OpenPrivateDirectory(int parent, const char* path);

// Whether `name` may be used in a directory that was opened safely: one path component
// that does not lead elsewhere.
inline bool IsFileName(std::string_view name) {
  using std::string_view_literals::operator""sv;
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\0"sv) == std::string_view::npos;
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_ACCESS_H_
