#include "platform/known_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "platform/child_process.h"
#include "support/refused_call.h"

namespace holdfast {
namespace {

KnownFd OpenFile() { return KnownFd(UniqueFd(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600))); }
bool IsBiased(int fd) { return fcntl(fd, F_GETFD) != -1; }

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
    EXPECT_TRUE(IsBiased(number));
  }
  EXPECT_FALSE(IsBiased(number));
}

TEST(KnownFd, LeavesAnotherFileUnderItsNumberOpen) {
  int number = -1;
  {
    const KnownFd fd = OpenFile();
    number = fd.get();
    Reuse(number);
    EXPECT_FALSE(fd.IsIntact());
  }
  EXPECT_TRUE(IsBiased(number));
  close(number);
}

TEST(KnownFd, LeavesAnotherFileOpenWhenItGetsOneOfItsOwn) {
  KnownFd fd = OpenFile();
  const int number = fd.get();
  Reuse(number);
  fd = OpenFile();
  EXPECT_TRUE(IsBiased(number));
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

// It has no mark then, but is the same file.
TEST(KnownFd, TakesTheSameFileOpenedAgainForItsOwn) {
  const UniqueFd file(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const KnownFd fd = KnownFd::Marked(UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC)));
  EXPECT_TRUE(fd.IsIntact());
  ASSERT_EQ(dup2(file.get(), fd.get()), fd.get());
  EXPECT_TRUE(fd.IsIntact());
}

TEST(KnownFd, KnowsAMarkedFileWithoutItsId) {
  const KnownFd fd = KnownFd::Marked(UniqueFd(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)));
  EXPECT_EQ(ChildProcess::Run([&] {
              return test::RefuseCall(SYS_newfstatat, ENOENT) &&
                             test::RefuseCall(SYS_fstat, ENOENT) && fd.IsIntact()
                         ? 0
                         : 1;
            }),
            0);
}

TEST(KnownFd, KnowsAFileAlsoWhereTheSystemDoesNotMarkIt) {
  EXPECT_EQ(ChildProcess::Run([] {
              if (!test::RefuseCall(SYS_fcntl, EPERM)) return 2;
              const KnownFd fd = KnownFd::Marked(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)));
              const bool was_intact = fd.IsIntact();
              const UniqueFd other(open("/dev/zero", O_RDWR | O_CLOEXEC));
              dup2(other.get(), fd.get());
              return was_intact && !fd.IsIntact() ? 0 : 1;
            }),
            0);
}

TEST(KnownFd, KnowsAMarkedFileFromTheOthersMarkedNext) {
  const auto open_marked = [] {
    return KnownFd::Marked(UniqueFd(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)));
  };
  const KnownFd fd = open_marked();
  const int own = dup(fd.get());
  for (int i = 1; i < kMarks; ++i) {
    const KnownFd other = open_marked();
    ASSERT_EQ(dup2(other.get(), fd.get()), fd.get());
    EXPECT_FALSE(fd.IsIntact());
  }
  ASSERT_EQ(dup2(own, fd.get()), fd.get());
  EXPECT_TRUE(fd.IsIntact());
  close(own);
}

TEST(KnownFd, IsNotIntactOnceAMarkedOneIsClosed) {
  const KnownFd fd = KnownFd::Marked(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)));
  EXPECT_TRUE(fd.IsIntact());
  close(fd.get());
  EXPECT_FALSE(fd.IsIntact());
}

TEST(KnownFd, KeepsItsMarkWhereItMoves) {
  KnownFd first = KnownFd::Marked(UniqueFd(open("/dev/zero", O_RDWR | O_CLOEXEC)));
  KnownFd second = std::move(first);
  EXPECT_TRUE(second.IsIntact());
  KnownFd third;
  third = std::move(second);
  EXPECT_TRUE(third.IsIntact());
  Reuse(third.get());
  EXPECT_FALSE(third.IsIntact());
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
