// SIGPIPE and PeerDoorbell::Ring: the process is not to notice that such a signal exists.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "platform/child_process.h"
#include "platform/doorbell.h"
#include "platform/test_segment.h"
#include "support/readable.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

// From now on the system answers this thread's pwritev2() with `error`.
bool RefusePwritev2(int error) {
  constexpr uint32_t kNumber = offsetof(seccomp_data, nr);
  std::array<sock_filter, 4> rules{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = rules.size(), .filter = rules.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

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
      if (GetParam() != 0 && !RefusePwritev2(GetParam())) return 2;
      return is_right() ? 0 : 1;
    });
    EXPECT_EQ(result, 0) << "negative: what killed it; 2: nothing could be refused";
  }
  // Rings a doorbell whose owner has gone.
  bool RingNobody() const {
    std::optional<Doorbell> doorbell = *Doorbell::Create(bucket_, "doorbell");
    const PeerDoorbell peer = *PeerDoorbell::Open(bucket_, "doorbell");
    doorbell.reset();
    return peer.Ring().code() == StatusCode::kClosed;
  }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "place");
};

TEST_P(SigpipeTest, DoesNotKillTheProcess) {
  Expect([&] { return RingNobody() && RingNobody(); });
}

TEST_P(SigpipeTest, DoesNotBecomePendingByARing) {
  Expect([&] {
    Change(SIG_BLOCK);
    return RingNobody() && !IsPending() && IsBlocked();
  });
}

TEST_P(SigpipeTest, StaysPendingWhenItWasBefore) {
  Expect([&] {
    Change(SIG_BLOCK);
    pthread_kill(pthread_self(), SIGPIPE);
    return RingNobody() && IsPending();
  });
}

TEST_P(SigpipeTest, IsNotBlockedAfterARingWhenItWasNotBefore) {
  Expect([&] { return RingNobody() && !IsBlocked(); });
}

TEST_P(SigpipeTest, LetsADoorbellBeRung) {
  Expect([&] {
    const Doorbell doorbell = *Doorbell::Create(bucket_, "doorbell");
    const PeerDoorbell peer = *PeerDoorbell::Open(bucket_, "doorbell");
    return peer.Ring().ok() && test::IsReadable(doorbell.fd());
  });
}

INSTANTIATE_TEST_SUITE_P(Systems, SigpipeTest, testing::Values(0, EOPNOTSUPP, ENOSYS, EPERM),
                         [](const auto& tested) { return std::to_string(tested.param); });

}  // namespace
}  // namespace holdfast
