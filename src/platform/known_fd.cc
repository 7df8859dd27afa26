#include "platform/known_fd.h"

#include <fcntl.h>

#include <cerrno>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

KnownFd& KnownFd::operator=(KnownFd&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = std::move(other.fd_);
  id_ = other.id_;
  mark_ = other.mark_;
  return *this;
}

KnownFd KnownFd::Marked(UniqueFd fd) {
  KnownFd known(std::move(fd));
  known.mark_ = MarkFile(known.get());
  return known;
}

bool KnownFd::IsIntact() const {
  if (mark_ != kNoMark && MarkOf(fd_.get()) == mark_) return true;
  const FileId found = FileIdOf(fd_.get());
  return found == FileId{} ? errno != EBADF : !IsAnother(found, id_);
}

void KnownFd::reset() {
  if (!fd_) return;
  const int saved = errno;
  if (IsAnother(FileIdOf(fd_.get()), id_)) (void)fd_.release();
  fd_.reset();
  errno = saved;
}

Result<UniqueFd> Duplicate(int fd) {
  // Above the standard streams: a caller may give it to a child under its own number.
  constexpr int kFirstFree = 3;
  UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, kFirstFree));
  if (!copy) return OsError("cannot duplicate a descriptor");
  return copy;
}

}  // namespace platform
}  // namespace holdfast
