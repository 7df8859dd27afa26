#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "platform/fd.h"

namespace holdfast {
namespace {

int OpenNull() { return open("/dev/null", O_RDWR | O_CLOEXEC); }
bool IsBiased(int fd) { return fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, HasNothingAtFirst) {
  const UniqueFd fd;
  EXPECT_FALSE(fd);
  EXPECT_EQ(fd.get(), -1);
}

TEST(UniqueFd, ClosesAtTheEndOfItsScope) {
  const int number = OpenNull();
  {
    const UniqueFd fd(number);
    EXPECT_TRUE(fd);
    EXPECT_TRUE(IsBiased(number));
  }
  EXPECT_FALSE(IsBiased(number));
}

TEST(UniqueFd, ClosesWhatItHadWhenItGetsAnother) {
  const int first = OpenNull();
  const int second = OpenNull();
  UniqueFd fd(first);
  fd.reset(second);
  EXPECT_FALSE(IsBiased(first));
  EXPECT_TRUE(IsBiased(second));
}

TEST(UniqueFd, MovesWithoutClosing) {
  UniqueFd from(OpenNull());
  const int number = from.get();
  UniqueFd to;
  to = std::move(from);
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): that it is empty is the claim
  EXPECT_EQ(to.get(), number);
  EXPECT_TRUE(IsBiased(number));
}

TEST(UniqueFd, LeavesWhatItReleasedOpen) {
  int number = -1;
  {
    UniqueFd fd(OpenNull());
    number = fd.release();
  }
  EXPECT_TRUE(IsBiased(number));
  close(number);
}

TEST(UniqueFd, KeepsErrnoWhenItCloses) {
  UniqueFd fd(1 << 20);  // not an open descriptor: close fails
  errno = ENOSPC;
  fd.reset();
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace holdfast
