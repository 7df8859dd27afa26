#include "platform/nested_epoll.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace holdfast {
namespace {

bool IsReadable(int fd) {
  pollfd request{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&request, 1, 0) == 1;
}

TEST(NestedEpollTest, IsReadableWhileTheOtherIs) {
  const UniqueFd other(eventfd(0, EFD_CLOEXEC));
  const UniqueFd nested_epoll = *OpenNestedEpoll(other.get());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(IsReadable(nested_epoll.get()));
    uint64_t count = 1;
    ASSERT_EQ(write(other.get(), &count, sizeof(count)), ssize_t{sizeof(count)});
    EXPECT_TRUE(IsReadable(nested_epoll.get()));
    EXPECT_TRUE(IsReadable(nested_epoll.get())) << "looking takes nothing away";
    ASSERT_EQ(read(other.get(), &count, sizeof(count)), ssize_t{sizeof(count)});
  }
  EXPECT_FALSE(IsReadable(nested_epoll.get()));
}

TEST(NestedEpollTest, OfWhatCannotBePolledIsAnError) {
  EXPECT_EQ(OpenNestedEpoll(-1).status().os_error(), EBADF);
}

}  // namespace
}  // namespace holdfast
