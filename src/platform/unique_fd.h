// The one owner of a file descriptor.
#ifndef HOLDFAST_PLATFORM_UNIQUE_FD_H_
#define HOLDFAST_PLATFORM_UNIQUE_FD_H_

#include <utility>

// `platform` is inline: users may say holdfast::BucketDirectory or holdfast::platform::…
namespace holdfast {
inline namespace platform {

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

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_UNIQUE_FD_H_
