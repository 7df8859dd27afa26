// SIGPIPE and PeerDoorbell::Ring: the process is not to notice that such a signal exists.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include "platform/child_process.h"
#include "platform/doorbell.h"
#include "platform/test_segment.h"
#include "support/readable.h"
#include "support/refused_call.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

bool IsPending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

bool IsBlocked() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, SIGPIPE) == 1;
}

void Change(int how) {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(how, &pipe, nullptr);
}

// The parameter: how the system answers a write that asks for no signal. 0: as it does; others as
// earlier ones do, and what guards containers.
class SigpipeTest : public testing::TestWithParam<int> {
 protected:
  // In a child, in which SIGPIPE has its effect.
  void Expect(const std::function<bool()>& is_right) {
    const int result = ChildProcess::Run([&] {
      std::signal(SIGPIPE, SIG_DFL);
      Change(SIG_UNBLOCK);
      if (GetParam() != 0 && !test::RefuseCall(SYS_pwritev2, GetParam())) return 2;
      return is_right() ? 0 : 1;
    });
    EXPECT_EQ(result, 0) << "negative: what killed it; 2: nothing could be refused";
  }
  // Rings a doorbell whose owner has gone.
  bool RingWithoutReader() const {
    std::optional<Doorbell> doorbell = *Doorbell::Create(bucket_, "doorbell");
    const PeerDoorbell peer = *PeerDoorbell::Open(bucket_, "doorbell");
    doorbell.reset();
    return peer.Ring().code() == StatusCode::kClosed;
  }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
};

TEST_P(SigpipeTest, DoesNotKillTheProcess) {
  Expect([&] { return RingWithoutReader() && RingWithoutReader(); });
}

TEST_P(SigpipeTest, DoesNotBecomePendingByARing) {
  Expect([&] {
    Change(SIG_BLOCK);
    return RingWithoutReader() && !IsPending() && IsBlocked();
  });
}

TEST_P(SigpipeTest, StaysPendingWhenItWasBefore) {
  Expect([&] {
    Change(SIG_BLOCK);
    pthread_kill(pthread_self(), SIGPIPE);
    return RingWithoutReader() && IsPending();
  });
}

TEST_P(SigpipeTest, IsNotBlockedAfterARingWhenItWasNotBefore) {
  Expect([&] { return RingWithoutReader() && !IsBlocked(); });
}

TEST_P(SigpipeTest, LetsADoorbellBeRung) {
  Expect([&] {
    const Doorbell doorbell = *Doorbell::Create(bucket_, "doorbell");
    const PeerDoorbell peer = *PeerDoorbell::Open(bucket_, "doorbell");
    return peer.Ring().ok() && test::IsReadable(doorbell.fd());
  });
}

// The ringing stands between a release and the next holder.
TEST(SigpipeFlag, SavesTheChangesOfTheSignalMask) {
  const TestDirectory root;
  const BucketDirectory bucket = OpenBucket(root / "parent");
  const Doorbell doorbell = *Doorbell::Create(bucket, "doorbell");
  const PeerDoorbell peer = *PeerDoorbell::Open(bucket, "doorbell");
  constexpr long kNoSignal = 0x100;
  char byte = 0;
  const iovec piece{.iov_base = &byte, .iov_len = 1};
  if (syscall(SYS_pwritev2, peer.fd(), &piece, 1L, -1L, -1L, kNoSignal) != 1) {
    GTEST_SKIP() << "the system knows no write without a signal (Linux 6.18)";
  }
  // A ring by write(), within the two changes, would fail.
  EXPECT_EQ(ChildProcess::Run(
                [&] { return test::RefuseCall(SYS_write, EIO) && peer.Ring().ok() ? 0 : 1; }),
            0);
}

INSTANTIATE_TEST_SUITE_P(Systems, SigpipeTest, testing::Values(0, EOPNOTSUPP, ENOSYS, EPERM),
                         [](const auto& tested) { return std::to_string(tested.param); });

}  // namespace
}  // namespace holdfast
