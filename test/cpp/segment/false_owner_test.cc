#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "segment/lock_word.h"
#include "support/fake_machine.h"

namespace holdfast::test {
namespace {

using segment::DisownShards;
using segment::LockWord;
using segment::ProcessRef;
using segment::ShardLock;

constexpr uint64_t kOwnerTimeoutNs = 2'000'000;
constexpr uint32_t kWaiters = 0x80000000;

class FalseOwner : public testing::Test {
 protected:
  segment::ShardHeader& Shard(uint32_t index) { return machine.segment().shard(index); }
  void Accuse(ProcessRef process, uint32_t shard = 0, uint32_t flags = 0) {
    Shard(shard).lock_word.Set(process.ToShortWord() | flags);
  }
  bool IsLocked(uint32_t shard = 0) { return LockWord(machine.segment(), shard).IsLocked(); }
  void Disown(ProcessRef process) { DisownShards(machine.segment(), process, host); }
  Result<ShardLock> Enter(ProcessRef process, uint32_t shard) {
    return ShardLock::Enter(machine.segment(), shard, process, host, kOwnerTimeoutNs);
  }

  FakeMachine machine;
  FakeHost& host = machine.host();
  ProcessRef p = machine.Attach(0);
  ProcessRef q = machine.Attach(1);
};

TEST_F(FalseOwner, FreesWhatNamesItAndLeavesItToBeRepaired) {
  Accuse(p, 0);
  Accuse(p, 1);
  Disown(p);
  for (const uint32_t shard : {0U, 1U}) {
    EXPECT_FALSE(IsLocked(shard));
    EXPECT_EQ(Shard(shard).dirty.Get(), 1U);
  }
}

TEST_F(FalseOwner, WakesASleeper) {
  Accuse(p, 0, kWaiters);
  Disown(p);
  EXPECT_FALSE(IsLocked());
  EXPECT_EQ(host.wakes(), 1U);
}

TEST_F(FalseOwner, LeavesAWordThatNamesAnotherProcess) {
  Accuse(q);
  Disown(p);
  EXPECT_EQ(LockWord(machine.segment(), 0).Owner(), q);
  EXPECT_EQ(Shard(0).dirty.Get(), 0U);
}

TEST_F(FalseOwner, LeavesWhatNamesAnEarlierProcessOfItsSlot) {
  Accuse(p);
  Disown(machine.Attach(p.slot));
  EXPECT_TRUE(IsLocked());
}

TEST_F(FalseOwner, LeavesAShardThatAThreadIsInside) {
  const auto lock = Enter(p, 0);
  std::thread([&] { Disown(p); }).join();
  EXPECT_TRUE(IsLocked());
  EXPECT_EQ(Shard(0).dirty.Get(), 0U);
}

// Which shard a thread is inside is not known: any is enough.
TEST_F(FalseOwner, KnowsNothingWhileAThreadIsInsideAnotherShard) {
  Accuse(p);
  {
    const auto outer = Enter(p, 1);
    { const auto refused = Enter(p, 0); }
    std::thread([&] { Disown(p); }).join();
    EXPECT_TRUE(IsLocked());
  }
  Disown(p);
  EXPECT_FALSE(IsLocked());
}

TEST_F(FalseOwner, FreesWhatOneOfItsOwnThreadsSleepsFor) {
  Accuse(p);
  bool has_disowned = false;
  host.DuringSleep([&] {
    if (std::exchange(has_disowned, true)) return;
    Disown(p);
  });
  EXPECT_TRUE(Enter(p, 0).ok());
}

TEST_F(FalseOwner, ForgetsThreadsThatHaveEnded) {
  std::thread([&] { const auto lock = Enter(p, 1); }).join();
  Accuse(p);
  Disown(p);
  EXPECT_FALSE(IsLocked());
}

TEST_F(FalseOwner, RobsNoThreadThatComesAndGoes) {
  constexpr int kRounds = 50'000;
  std::atomic<int> inside{0};
  std::atomic<int> running{2};
  std::atomic<int> faults{0};
  const auto come_and_go = [&] {
    for (int i = 0; i < kRounds; ++i) {
      const auto lock = Enter(p, 0);
      if (!lock.ok()) continue;
      if (inside.fetch_add(1) != 0 || lock->NeedsRepair()) ++faults;
      inside.fetch_sub(1);
    }
    --running;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(come_and_go);
  while (running.load() > 0) Disown(p);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults.load(), 0);
}

}  // namespace
}  // namespace holdfast::test
