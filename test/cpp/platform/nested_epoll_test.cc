#include "platform/nested_epoll.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "support/readable.h"

namespace holdfast {
namespace {

using test::IsReadable;

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
