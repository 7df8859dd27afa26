#include "platform/known_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast {
namespace {

KnownFd OpenFile() { return KnownFd(UniqueFd(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600))); }
bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

// Another file under the number of `fd`.
void Reuse(int fd) {
  const UniqueFd other(open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(dup2(other.get(), fd), fd);
}

TEST(KnownFd, ClosesItsFile) {
  int number = -1;
  {
    const KnownFd fd = OpenFile();
    number = fd.get();
    EXPECT_TRUE(fd.IsIntact());
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
}

TEST(KnownFd, LeavesAnotherFileUnderItsNumberOpen) {
  int number = -1;
  {
    const KnownFd fd = OpenFile();
    number = fd.get();
    Reuse(number);
    EXPECT_FALSE(fd.IsIntact());
  }
  EXPECT_TRUE(IsOpen(number));
  close(number);
}

TEST(KnownFd, LeavesAnotherFileOpenWhenItGetsOneOfItsOwn) {
  KnownFd fd = OpenFile();
  const int number = fd.get();
  Reuse(number);
  fd = OpenFile();
  EXPECT_TRUE(IsOpen(number));
  EXPECT_TRUE(fd.IsIntact());
  close(number);
}

TEST(KnownFd, IsNotIntactOnceItIsClosed) {
  const KnownFd fd = OpenFile();
  close(fd.get());
  EXPECT_FALSE(fd.IsIntact());
}

TEST(KnownFd, StaysIntactWhereItMoves) {
  KnownFd first = OpenFile();
  const int number = first.get();
  const KnownFd second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(second.IsIntact());
}

TEST(KnownFd, KeepsErrno) {
  KnownFd fd = OpenFile();
  close(fd.get());
  errno = ENOENT;
  fd.reset();
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace holdfast
