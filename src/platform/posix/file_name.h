// Which names are allowed in a directory that was opened safely.
#ifndef HOLDFAST_PLATFORM_POSIX_FILE_NAME_H_
#define HOLDFAST_PLATFORM_POSIX_FILE_NAME_H_

#include <string_view>

namespace holdfast {
inline namespace platform {

// A single path component that does not lead elsewhere.
inline bool IsFileName(std::string_view name) {
  using std::string_view_literals::operator""sv;
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\0"sv) == std::string_view::npos;
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_FILE_NAME_H_
