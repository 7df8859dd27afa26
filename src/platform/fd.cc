#include "platform/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace holdfast {
inline namespace platform {

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old < 0) return;
  const int saved = errno;
  // Not repeated after EINTR: Linux has closed it then, and another thread may have the number.
  close(old);
  errno = saved;
}

FileId FileIdOf(int fd) {
  struct stat found {};
  if (fstat(fd, &found) == -1) return {};
  return {found.st_dev, found.st_ino};
}

// The number of the signal that the system sends for asynchronous input and output of the file.
// None is sent, because no code sets O_ASYNC.
int MarkFile(int fd) {
  static std::atomic<unsigned> count{0};
  const int mark = static_cast<int>(count.fetch_add(1) % kMarks) + 1;
  const bool is_marked = fcntl(fd, F_SETSIG, mark) == 0 && MarkOf(fd) == mark;
  return is_marked ? mark : kNoMark;
}

int MarkOf(int fd) { return fcntl(fd, F_GETSIG); }

}  // namespace platform
}  // namespace holdfast
