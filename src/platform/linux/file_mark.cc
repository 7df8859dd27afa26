#include "platform/file_mark.h"

#include <fcntl.h>

#include <atomic>

namespace holdfast {
inline namespace platform {

// The number of the signal that the system sends for asynchronous input and output of the file.
// None is sent, because nobody asks for that (O_ASYNC).
int MarkFile(int fd) {
  static std::atomic<unsigned> count{0};
  const int mark = static_cast<int>(count.fetch_add(1) % kMarks) + 1;
  const bool is_marked = fcntl(fd, F_SETSIG, mark) == 0 && MarkOf(fd) == mark;
  return is_marked ? mark : kNoMark;
}

int MarkOf(int fd) { return fcntl(fd, F_GETSIG); }

}  // namespace platform
}  // namespace holdfast
