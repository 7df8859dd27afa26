#include "segment/lock_word.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/fake_machine.h"

namespace holdfast::test {
namespace {

using segment::LockOutcome;
using segment::LockWord;
using segment::ProcessRef;

constexpr uint64_t kLockTimeoutNs = 2'000'000;

class LockWordTest : public testing::Test {
 protected:
  LockOutcome Acquire(ProcessRef process, uint64_t timeout_ns = kLockTimeoutNs) {
    return AcquireAt(word, process, timeout_ns);
  }
  LockOutcome AcquireAt(LockWord& at, ProcessRef process, uint64_t timeout_ns = kLockTimeoutNs) {
    platform::CriticalSectionMark mark;
    mark.Enter();
    return at.Acquire(process, mark, machine.host(), timeout_ns);
  }
  void Release(ProcessRef process) { word.Release(process, machine.host()); }

  FakeMachine machine;
  ProcessRef p = machine.Attach(0);
  ProcessRef q = machine.Attach(1);
  LockWord word{machine.segment(), 0};
};

TEST_F(LockWordTest, NamesItsOwner) {
  EXPECT_EQ(Acquire(p), LockOutcome::kAcquired);
  EXPECT_EQ(word.Owner(), p);
  EXPECT_TRUE(word.IsLocked());
}

TEST_F(LockWordTest, IsFreeAfterTheRelease) {
  Acquire(p);
  Release(p);
  EXPECT_FALSE(word.IsLocked());
  EXPECT_EQ(Acquire(q), LockOutcome::kAcquired);
}

TEST_F(LockWordTest, WaitsNoLongerThanItsTimeoutForALivingOwner) {
  Acquire(p);
  const uint64_t start = machine.host().MonotonicNs();
  EXPECT_EQ(Acquire(q), LockOutcome::kTimedOut);
  EXPECT_EQ(machine.host().MonotonicNs() - start, kLockTimeoutNs);
  EXPECT_EQ(word.Owner(), p);
}

// A wake-up that a dying process owed costs one slice, however long the budget.
TEST_F(LockWordTest, SleepsInSlices) {
  constexpr uint64_t kLongestSliceNs = 1'000'000;
  Acquire(p);
  EXPECT_EQ(Acquire(q), LockOutcome::kTimedOut);
  EXPECT_GE(machine.host().sleeps(), kLockTimeoutNs / kLongestSliceNs);
}

TEST_F(LockWordTest, DoesNotSleepWithoutATimeout) {
  Acquire(p);
  EXPECT_EQ(Acquire(q, 0), LockOutcome::kTimedOut);
  EXPECT_EQ(machine.host().sleeps(), 0U);
}

// The thread that takes over has to repair.
TEST_F(LockWordTest, IsTakenOverByNoThreadThatMayNotWait) {
  Acquire(p);
  machine.Kill(p);
  EXPECT_EQ(Acquire(q, 0), LockOutcome::kTimedOut);
  EXPECT_EQ(word.Owner(), p);
}

TEST_F(LockWordTest, IsTakenOverFromADeadOwner) {
  Acquire(p);
  machine.Kill(p);
  EXPECT_EQ(Acquire(q), LockOutcome::kOwnerDied);
  EXPECT_EQ(word.Owner(), q);
}

TEST_F(LockWordTest, IsTakenOverFromAnOwnerThatDiesMeanwhile) {
  Acquire(p);
  machine.host().DuringSleep([&] { machine.Kill(p); });
  EXPECT_EQ(Acquire(q), LockOutcome::kOwnerDied);
}

TEST_F(LockWordTest, IsTakenOverFromAnOlderProcessOfTheSlot) {
  Acquire(p);
  machine.Attach(p.slot);
  EXPECT_EQ(Acquire(q), LockOutcome::kOwnerDied);
}

TEST_F(LockWordTest, IsTakenOverWhenItNamesAnImpossibleProcess) {
  for (const uint32_t nonsense : {0x80000000U, 0x7FFU, 0x00000800U, 0x7FFFFFFFU, 3U}) {
    machine.segment().shard(0).lock_word.Set(nonsense);
    EXPECT_EQ(Acquire(q), LockOutcome::kOwnerDied) << nonsense;
  }
}

TEST_F(LockWordTest, IsAcquiredWhenTheOwnerReleasesMeanwhile) {
  Acquire(p);
  machine.host().DuringSleep([&] { Release(p); });
  EXPECT_EQ(Acquire(q), LockOutcome::kAcquired);
}

TEST_F(LockWordTest, WakesASleeperAtTheRelease) {
  Acquire(p);
  EXPECT_EQ(Acquire(q), LockOutcome::kTimedOut);
  Release(p);
  EXPECT_EQ(machine.host().wakes(), 1U);
}

TEST_F(LockWordTest, WakesNoThreadWhereNoThreadSleeps) {
  Acquire(p);
  Release(p);
  EXPECT_EQ(machine.host().wakes(), 0U);
}

// An owner that has slept does not know whether others sleep.
TEST_F(LockWordTest, WakesAgainAfterTheReleaseOfAnOwnerThatHadSlept) {
  Acquire(p);
  machine.host().DuringSleep([&] { Release(p); });
  Acquire(q);
  Release(q);
  EXPECT_EQ(machine.host().wakes(), 2U);
}

TEST_F(LockWordTest, IsNotReleasedByAnotherProcess) {
  Acquire(p);
  Release(q);
  EXPECT_EQ(word.Owner(), p);
}

TEST_F(LockWordTest, KnowsAnOwnerWhoseGenerationIsLongerThanItsField) {
  machine.segment().process(0).generation.Set((1U << 20) + 5);
  const ProcessRef late{0, (1U << 20) + 5};
  Acquire(late);
  EXPECT_EQ(word.Owner(), late);
}

TEST_F(LockWordTest, MarksTheShardForRepairThatADeadOwnerLeft) {
  Acquire(p);
  machine.Kill(p);
  const auto lock =
      segment::ShardLock::Enter(machine.segment(), 0, q, machine.host(), kLockTimeoutNs);
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(lock->NeedsRepair());
}

TEST_F(LockWordTest, IsReleasedAtTheEndOfTheScopeOfAShardLock) {
  {
    const auto lock =
        segment::ShardLock::Enter(machine.segment(), 0, q, machine.host(), kLockTimeoutNs);
    EXPECT_TRUE(word.IsLocked());
  }
  EXPECT_FALSE(word.IsLocked());
}

TEST_F(LockWordTest, LetsOneThreadInAtATime) {
  constexpr int kRounds = 20'000;
  int counter = 0;  // not atomic
  std::vector<std::thread> threads;
  for (const ProcessRef process : {p, p, q, q}) {
    threads.emplace_back([&, process] {
      LockWord mine(machine.segment(), 0);
      for (int i = 0; i < kRounds; ++i) {
        while (AcquireAt(mine, process) != LockOutcome::kAcquired) {
        }
        ++counter;
        mine.Release(process, machine.host());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 4 * kRounds);
}

TEST_F(LockWordTest, IsTakenOverByOneThreadOnly) {
  for (int round = 0; round < 200; ++round) {
    machine.segment().shard(0).lock_word.Set(0x7FF);  // no process that can be
    std::atomic<int> heirs{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        if (Acquire(q, 1) == LockOutcome::kOwnerDied) ++heirs;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(heirs.load(), 1);
    machine.segment().shard(0).lock_word.Set(0);
  }
}

}  // namespace
}  // namespace holdfast::test
