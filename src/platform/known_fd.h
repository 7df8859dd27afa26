// A descriptor with the identity of the file that it was opened for.
//
// A program may close any number, by a close() too many or a closefrom(), and then open its file
// under that number. That file must not be written, read or closed here.
#ifndef HOLDFAST_PLATFORM_KNOWN_FD_H_
#define HOLDFAST_PLATFORM_KNOWN_FD_H_

#include <utility>

#include "platform/fd.h"
#include "platform/result.h"

namespace holdfast {
inline namespace platform {

class KnownFd {
 public:
  KnownFd() = default;
  explicit KnownFd(UniqueFd fd) : fd_(std::move(fd)), id_(FileIdOf(fd_.get())) {}
  KnownFd(UniqueFd fd, const FileId& id) : fd_(std::move(fd)), id_(id) {}
  // For a file that is checked often: the file is marked, and reading the mark is the fastest
  // check.
  static KnownFd Marked(UniqueFd fd);
  KnownFd(KnownFd&& other) noexcept
      : fd_(std::move(other.fd_)), id_(other.id_), mark_(other.mark_) {}
  KnownFd& operator=(KnownFd&& other) noexcept;
  KnownFd(const KnownFd&) = delete;
  KnownFd& operator=(const KnownFd&) = delete;
  ~KnownFd() { reset(); }

  int get() const { return fd_.get(); }
  const FileId& id() const { return id_; }
  // Whether the number still belongs to the file. True also if the system does not answer, now or
  // when it was opened: no fault is known then. Two descriptors without a file, of epoll and
  // eventfd, are not distinguished: all have the same id. Among files that this process has marked,
  // one in kMarks is not distinguished either.
  bool IsIntact() const;
  // Closes the file, unless the number is another's.
  void reset();
  [[nodiscard]] int release() { return fd_.release(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  UniqueFd fd_;
  FileId id_;
  int mark_ = kNoMark;
};

// A second descriptor of the open file description of `fd`. Shares locks and file offset with `fd`;
// closed when this process runs another program.
Result<UniqueFd> Duplicate(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_KNOWN_FD_H_
