#include "core/sweep.h"

#include <atomic>
#include <vector>

#include "core/peer_monitor.h"
#include "platform/clock.h"
#include "support/lock_table_test.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using segment::ProcessRef;

constexpr uint16_t kProcesses = 100;
constexpr segment::Geometry::Counts kManyProcesses{.shards = 2,
                                                   .processes = kProcesses,
                                                   .agents = 6,
                                                   .buckets_per_shard = 2,
                                                   .extent_bytes = 1024,
                                                   .extents = 6};
// Of all processes, whatever their number.
constexpr uint32_t kMostChecks = 16;

class SweepTest : public LockTableTest {
 protected:
  SweepTest() : LockTableTest(kManyProcesses) {
    for (uint16_t slot = 3; slot < kProcesses; ++slot) others.push_back(machine.Attach(slot));
    sweep.Add(waiter);
  }

  // When it is due. Returns how many checks it made.
  uint32_t Run() {
    const uint32_t before = TimesChecked();
    machine.host().PassTime(1000 * kNsPerMs);
    sweep.Run(is_stopping);
    return TimesChecked() - before;
  }
  uint32_t TimesChecked() {
    uint32_t times = 0;
    for (const ProcessRef process : others) times += machine.host().times_checked(process);
    return times + machine.host().times_checked(p) + machine.host().times_checked(r);
  }

  const TestDirectory test_directory;
  const Result<platform::BucketDirectory> directory =
      platform::BucketDirectory::Open(test_directory.path(), "sweep");
  core::LockTable lock_table = machine.LockTableOf(q);
  core::DeadProcessFinder finder{lock_table};
  core::PeerMonitor peers{lock_table, *directory, finder};
  core::Sweep sweep{lock_table, peers, finder, true};
  core::Waiter waiter;
  std::atomic<bool> is_stopping{false};
  std::vector<ProcessRef> others;
};

TEST_F(SweepTest, ChecksFewProcessesHoweverManyThereAre) {
  sweep.BeginWaiting(waiter);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Run(), kMostChecks);
}

TEST_F(SweepTest, ChecksEachProcessInOrder) {
  machine.Kill(others.back());
  sweep.BeginWaiting(waiter);
  for (uint32_t i = 0; i < kProcesses / kMostChecks + 1; ++i) Run();
  for (const ProcessRef process : others) EXPECT_GE(machine.host().times_checked(process), 1U);
  const auto& entry = machine.segment().process(others.back().slot);
  EXPECT_EQ(entry.cleaned_generation.Acquire(), others.back().generation);
}

TEST_F(SweepTest, IsNotDueBeforeASecondHasPassed) {
  sweep.BeginWaiting(waiter);
  Run();
  const uint32_t before = TimesChecked();
  machine.host().PassTime(999 * kNsPerMs);
  sweep.Run(is_stopping);
  EXPECT_EQ(TimesChecked(), before);
}

TEST_F(SweepTest, OneMoreFollowsTheLastWaitAndThenNone) {
  sweep.BeginWaiting(waiter);
  waiter.is_waiting.store(false);
  EXPECT_EQ(Run(), kMostChecks);
  EXPECT_EQ(Run(), 0U);
  EXPECT_EQ(sweep.DueNs(0), core::BackgroundJob::kNever);
  EXPECT_TRUE(sweep.BeginWaiting(waiter));  // the thread must be woken
  EXPECT_EQ(Run(), kMostChecks);
}

}  // namespace
}  // namespace holdfast::test
