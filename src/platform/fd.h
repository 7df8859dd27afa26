// File descriptors: their owner, and the identity of their file.
#ifndef HOLDFAST_PLATFORM_FD_H_
#define HOLDFAST_PLATFORM_FD_H_

#include <cstdint>
#include <utility>

// `platform` is inline: users may say holdfast::BucketDirectory or holdfast::platform::…
namespace holdfast {
inline namespace platform {

// The one owner of a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}  // -1: none
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  // Closes what it has and keeps errno as it was.
  void reset(int fd = -1);
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Identifies a file among all that exist at the same time.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;  // 0: not known

  friend bool operator==(const FileId&, const FileId&) = default;
};

// Whether `found` is certainly another file than `known`; false if one of them is not known.
inline bool IsAnother(const FileId& found, const FileId& known) {
  return found != FileId{} && known != FileId{} && found != known;
}

// The id of an open file. It is unknown if the system does not answer; errno is EBADF if `fd` is
// not open.
FileId FileIdOf(int fd);

// A number that the system keeps with an open file, the same for each of its descriptors. Reading
// it takes half as long as fstat().
inline constexpr int kNoMark = 0;  // of every unmarked file

// Marks the open file of `fd` with a number that one in kMarks of those marked by this process has.
// Returns it; kNoMark if the system does not mark files.
inline constexpr int kMarks = 64;
int MarkFile(int fd);
// The mark of the open file under `fd`; -1 with errno if the system does not answer, EBADF if there
// is no such file.
int MarkOf(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FD_H_
