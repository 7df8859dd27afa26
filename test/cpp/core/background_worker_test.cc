#include "core/background_worker.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "core/peer_doorbells.h"
#include "platform/doorbell.h"
#include "support/lock_table_test.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using segment::ProcessRef;

// A made-up process has no lifeline unless the test makes one: the worker checks a watched process
// at once, and again and again. Without the sweep.
class BackgroundWorkerTest : public LockTableTest {
 protected:
  void TearDown() override {
    worker.Stop();
    LockTableTest::TearDown();
  }

  bool IsCleanedUp(ProcessRef process) const {
    const auto& entry = machine.segment().process(process.slot);
    return entry.cleaned_generation.Acquire() == process.generation;
  }
  // CTest ends a test that waits for ever.
  template <typename Condition>
  static void Until(const Condition& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  platform::Doorbell MakeLifeline(ProcessRef process) {
    Result<platform::Doorbell> lifeline =
        platform::Doorbell::Create(*directory, core::LifelineName(machine.segment(), process));
    EXPECT_TRUE(lifeline.ok()) << lifeline.status().reason();
    return *std::move(lifeline);
  }

  const TestDirectory test_directory;
  const Result<platform::BucketDirectory> directory =
      platform::BucketDirectory::Open(test_directory.path(), "worker");
  core::LockTable lock_table = machine.LockTableOf(q);
  core::BackgroundWorker worker{lock_table, *directory, {.sweeps = false}};
};

TEST_F(BackgroundWorkerTest, CleansUpAfterAProcessThatIsDead) {
  Request(a, u"n");
  Request(b, u"n");
  machine.Kill(p);
  ASSERT_TRUE(worker.Watch(p).ok());
  Until([this] { return IsCleanedUp(p); });
  EXPECT_TRUE(IsHeld(2));
}

// The descriptors of a dying process close one after the other, which takes long where there is
// much to free or little time to run.
TEST_F(BackgroundWorkerTest, ContinuesToCheckWhileAProcessIsDying) {
  constexpr uint32_t kChecksAtFirst = 200;
  ASSERT_TRUE(worker.Watch(p).ok());
  Until([this] { return machine.host().times_checked(p) > kChecksAtFirst + 3; });
  machine.Kill(p);
  Until([this] { return IsCleanedUp(p); });
}

TEST_F(BackgroundWorkerTest, ChecksForOthersWhenItHasFoundADeadProcess) {
  machine.Kill(p);
  machine.Kill(r);
  ASSERT_TRUE(worker.Watch(p).ok());
  Until([this] { return IsCleanedUp(p) && IsCleanedUp(r); });
}

TEST_F(BackgroundWorkerTest, WatchesAProcessUntilItsLifelineBreaks) {
  std::optional<platform::Doorbell> lifeline(MakeLifeline(p));
  ASSERT_TRUE(worker.Watch(p).ok());
  Until([this] { return worker.IsWatched(p); });
  EXPECT_FALSE(worker.IsWatched(r));
  ASSERT_TRUE(worker.Watch(p).ok());  // once more
  machine.Kill(p);
  lifeline.reset();
  Until([this] { return IsCleanedUp(p); });
  EXPECT_FALSE(worker.IsWatched(p));
}

TEST_F(BackgroundWorkerTest, WatchesTheNextProcessInTheSlotOfOneThatItWatches) {
  const platform::Doorbell lifeline = MakeLifeline(p);
  ASSERT_TRUE(worker.Watch(p).ok());
  Until([this] { return worker.IsWatched(p); });
  const ProcessRef next = machine.Attach(p.slot);
  machine.Kill(next);
  ASSERT_TRUE(worker.Watch(next).ok());
  Until([&] { return IsCleanedUp(next); });
}

// The process dies at any moment between the request of the other one and its watch.
TEST_F(BackgroundWorkerTest, MissesNoDeathThatComesWhileAWatchBegins) {
  constexpr int kDeaths = 300;
  b.BePatient();  // its time is made up, and the worker's is not
  for (int i = 0; i < kDeaths; ++i) {
    const ProcessRef holder = machine.Attach(3);
    FakeAgent of_holder{machine, holder, 4};
    of_holder.BePatient();
    std::optional<platform::Doorbell> lifeline(MakeLifeline(holder));
    ASSERT_TRUE(worker.Watch(holder).ok());
    Until([&] { return worker.IsWatched(holder); });
    const uint32_t held = IdOf(of_holder, u"n");
    std::thread death([&] {
      machine.Kill(holder);
      lifeline.reset();
    });
    const core::RequestReply waiting = Request(b, u"n");
    if (waiting.outcome == core::RequestOutcome::kQueued) {
      ASSERT_TRUE(worker.Watch(waiting.blocker.process).ok());
    }
    death.join();
    Until([&] { return IsCleanedUp(holder); });
    ASSERT_FALSE(IsHeld(held));
    ASSERT_TRUE(IsHeld(last_id));
    ASSERT_TRUE(b.TakeEvents().ok());
    ASSERT_TRUE(b.End(last_id).ok());
  }
}

// The bucket is closed while the first of the dead is reaped.
class ClosingHost final : public FakeHost {
 public:
  using FakeHost::FakeHost;
  void RemoveLifeline(ProcessRef process) override {
    FakeHost::RemoveLifeline(process);
    is_stopping.store(true);
  }

  std::atomic<bool> is_stopping{false};
};

TEST_F(BackgroundWorkerTest, LeavesTheOtherDeadToPeersWhenItIsStoppedWhileItReaps) {
  ClosingHost host(machine.segment());
  core::LockTable closing(machine.segment(), host, q);
  core::DeadProcessFinder finder(closing);
  core::PeerMonitor peers(closing, *directory, finder);
  Result<platform::DeathWatch> watch = platform::DeathWatch::Create();
  ASSERT_TRUE(watch.ok());
  peers.UseDeathWatch(*watch);
  for (const ProcessRef process : {p, r}) {
    host.Kill(process);
    peers.Watch(process);
  }
  peers.Run(host.is_stopping);
  EXPECT_NE(IsCleanedUp(p), IsCleanedUp(r));
}

}  // namespace
}  // namespace holdfast::test
