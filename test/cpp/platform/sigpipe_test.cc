// SIGPIPE and PeerDoorbell::Ring: the process is not to notice that such a signal exists.
#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <ctime>
#include <optional>
#include <utility>

#include "platform/child_process.h"
#include "platform/doorbell.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

// What ringing a doorbell gives whose owner has gone.
StatusCode RingNobody(const BucketDirectory& bucket) {
  std::optional<Doorbell> doorbell = *Doorbell::Create(bucket, "doorbell");
  const PeerDoorbell peer = *PeerDoorbell::Open(bucket, "doorbell");
  doorbell.reset();
  return peer.Ring().code();
}

// SIGPIPE is blocked during each test, unless the test changes that.
class SigpipeTest : public testing::Test {
 protected:
  SigpipeTest() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeTest() override {
    const timespec at_once{};
    while (IsPending()) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  static bool IsPending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
  }
  static bool IsBlocked() {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, SIGPIPE) == 1;
  }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "place");
  sigset_t pipe_;
  sigset_t before_;
};

TEST_F(SigpipeTest, DoesNotKillTheProcess) {
  const int result = ChildProcess::Run([&] {
    pthread_sigmask(SIG_UNBLOCK, &pipe_, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    return static_cast<int>(RingNobody(bucket_));
  });
  EXPECT_EQ(result, static_cast<int>(StatusCode::kClosed)) << "negative: what killed it";
}

TEST_F(SigpipeTest, DoesNotBecomePendingByARing) {
  ASSERT_EQ(RingNobody(bucket_), StatusCode::kClosed);
  EXPECT_FALSE(IsPending());
  EXPECT_TRUE(IsBlocked());
}

TEST_F(SigpipeTest, StaysPendingWhenItWasBefore) {
  pthread_kill(pthread_self(), SIGPIPE);
  ASSERT_EQ(RingNobody(bucket_), StatusCode::kClosed);
  EXPECT_TRUE(IsPending());
}

TEST_F(SigpipeTest, IsNotBlockedAfterARingWhenItWasNotBefore) {
  pthread_sigmask(SIG_UNBLOCK, &pipe_, nullptr);
  ASSERT_EQ(RingNobody(bucket_), StatusCode::kClosed);
  EXPECT_FALSE(IsBlocked());
}

}  // namespace
}  // namespace holdfast
