#include "platform/known_fd.h"

#include <cerrno>

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

}  // namespace platform
}  // namespace holdfast
