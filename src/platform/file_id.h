// Identifies a file among all that exist at the same time.
#ifndef HOLDFAST_PLATFORM_FILE_ID_H_
#define HOLDFAST_PLATFORM_FILE_ID_H_

#include <cstdint>

namespace holdfast {
inline namespace platform {

struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: not known

  friend bool operator==(const FileId&, const FileId&) = default;
};

// Whether `found` is certainly another file than `known`; false where one of them is not known.
inline bool IsAnother(const FileId& found, const FileId& known) {
  return found != FileId{} && known != FileId{} && found != known;
}

// The id of an open file. It is unknown if the system does not answer; errno is EBADF if `fd` is
// not open.
FileId FileIdOf(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FILE_ID_H_
