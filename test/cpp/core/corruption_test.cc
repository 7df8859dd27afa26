// Nothing from the segment is trusted: whatever is written into it, every operation ends, touches
// nothing outside, and what is left can be repaired.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "core/blockers.h"
#include "core/self_deadlock.h"
#include "core/snapshot.h"
#include "segment/invariants.h"
#include "segment/lock_word.h"
#include "segment/shared.h"
#include "support/corruption_fuzzer.h"
#include "support/fake_agent.h"

namespace holdfast::test {
namespace {

constexpr uint64_t kSegments = 40000;
constexpr int kCorruptionRounds = 6;

const std::u16string kFuzzedNames[] = {u"", u"n", u"m", std::u16string(40, u's'),
                                       std::u16string(150, u'l')};

class CorruptedSegment {
 public:
  explicit CorruptedSegment(uint64_t seed) : fuzzer_(machine_, seed) {
    for (uint16_t slot = 0; slot < 4; ++slot) processes_.push_back(machine_.Attach(slot));
    for (uint16_t i = 0; i < 6; ++i) agents_.emplace_back(machine_, processes_[i % 4u], i);
  }

  void Use(int operations) {
    for (int i = 0; i < operations; ++i) Operate(agents_[Below(6)]);
  }
  // The same, with corruption in the middle of the operations, behind some of their
  // stores.
  void UseWhileCorrupting(int operations) {
    segment::store_observer = {&CorruptedSegment::AfterStore, this};
    Use(operations);
    segment::store_observer = {};
  }
  void CorruptOnce() {
    for (uint32_t left = 1 + Below(12); left > 0; --left) fuzzer_.CorruptOnce();
  }
  // The corruption is over: the next agent that enters each shard repairs it. Returns the remaining
  // faults.
  std::vector<std::string> Heal() {
    for (uint32_t shard = 0; shard < machine_.segment().geometry().shards; ++shard) {
      Challenge(shard);
      machine_.segment().shard(shard).dirty.Set(1);
      core::WakeQueue wake_queue(machine_.segment(), machine_.host());
      if (!agents_[0].lock_table().Enter(shard, wake_queue, kShardTimeoutNs).ok())
        return {"not entered"};
    }
    std::vector<std::string> violations = segment::CheckInvariants(machine_.segment());
    // A token is like the content of a file: nothing else in the segment says what it was.
    std::erase_if(violations, [](const std::string& violation) {
      return violation.ends_with("shares a token");
    });
    return violations;
  }

 private:
  static void AfterStore(void* context) {
    auto* const self = static_cast<CorruptedSegment*>(context);
    const segment::StoreObserver observer = segment::store_observer;
    segment::store_observer = {};  // the stores of the fuzzer are no such points
    if (self->Below(16) == 0) self->fuzzer_.CorruptOnce();
    segment::store_observer = observer;
  }

  uint32_t Below(uint32_t limit) { return fuzzer_.Below(limit); }

  // As a background worker does: a living process that the word names checks whether it is inside.
  // If the word was corrupted, a process was (all processes here have the same thread).
  void Challenge(uint32_t shard) {
    const segment::ProcessRef owner = segment::LockWord(machine_.segment(), shard).Owner();
    if (!machine_.host().IsAlive(owner)) return;
    segment::DisownShards(machine_.segment(), owner, machine_.host());
  }

  void Operate(FakeAgent& agent) {
    core::LockTable lock_table = agent.lock_table();
    const uint32_t dice = Below(20);
    if (dice < 9) {
      Request(agent);
    } else if (dice < 15) {
      const auto& mine = agent.mine();
      if (mine.empty()) return;
      auto it = std::next(mine.begin(), Below(static_cast<uint32_t>(mine.size())));
      (void)core::Blockers(lock_table, it->second.record, kShardTimeoutNs);
      (void)core::WouldSelfDeadlock(lock_table, agent.ref(), it->second.record, kShardTimeoutNs);
      machine_.host().PassTime(Below(1000));
      (void)agent.EnforceHoldLimits(it->first);
      (void)core::Holders(lock_table, NameOf(kFuzzedNames[Below(5)]), kShardTimeoutNs);
      if (it->second.is_held && Below(2) == 0) {
        agent.EndOrBias(it->first);
      } else {
        (void)agent.End(it->first);
      }
    } else if (dice < 17) {
      UseBiased(agent);
    } else if (dice < 18) {
      (void)agent.TakeEvents();
    } else if (dice < 19) {
      (void)core::TakeSnapshot(lock_table, kShardTimeoutNs);
    } else {
      End(agent);
    }
  }

  void UseBiased(FakeAgent& agent) {
    const auto& biased = agent.biased();
    if (biased.empty()) return;
    const uint32_t id =
        std::next(biased.begin(), Below(static_cast<uint32_t>(biased.size())))->first;
    if (agent.Holds(id)) {
      agent.ReleaseBiased(id);
    } else if (Below(4) != 0) {
      agent.AcquireBiased(id);
    } else {
      agent.FreeBiased(id);
    }
  }

  void Request(FakeAgent& agent) {
    static const Options kOptions[] = {
        kExclusive,
        kExclusive,
        kShared,
        kShared,
        kIfAvailable,
        kSharedIfAvailable,
        kSteal,
        Limited(1),
        Limited(2),
        HeldFor(1000),
        kLabelled,
        {.mode = LockMode::kShared, .limit = 2, .hold_limit_ns = 1, .label = kFuzzedNames[4]}};
    (void)agent.Request(++last_id_, kFuzzedNames[Below(5)], kOptions[Below(12)]);
  }

  // Ends an agent, or a process that then continues under its name: more corruption.
  void End(FakeAgent& agent) {
    if (Below(2) == 0) {
      (void)agents_[0].lock_table().TerminateAgent(agent.ref(), kShardTimeoutNs);
    } else {
      (void)agents_[0].lock_table().Reap(agent.ref().process, kShardTimeoutNs);
    }
  }

  FakeMachine machine_;
  CorruptionFuzzer fuzzer_;
  std::vector<segment::ProcessRef> processes_;
  std::vector<FakeAgent> agents_;
  uint32_t last_id_ = 0;
};

using Corrupt = std::vector<std::string> (*)(uint64_t seed);

std::vector<std::string> CorruptBetweenOperations(uint64_t seed) {
  CorruptedSegment segment(seed);
  segment.Use(12);
  for (int round = 0; round < kCorruptionRounds; ++round) {
    segment.CorruptOnce();
    segment.Use(6);
  }
  return segment.Heal();
}

std::vector<std::string> CorruptInsideOperations(uint64_t seed) {
  CorruptedSegment segment(seed);
  segment.Use(12);
  segment.UseWhileCorrupting(kCorruptionRounds * 6);
  return segment.Heal();
}

// HOLDFAST_SEED=<number> plays one segment again, HOLDFAST_CORRUPTIONS=<count> tries more of them
// (`npm test -- soak`).
void Try(Corrupt corrupt) {
  if (const char* const text = std::getenv("HOLDFAST_SEED")) {
    EXPECT_THAT(corrupt(std::stoull(text)), testing::IsEmpty()) << "HOLDFAST_SEED=" << text;
    return;
  }
  const char* const wanted = std::getenv("HOLDFAST_CORRUPTIONS");
  const uint64_t count = wanted == nullptr ? kSegments : std::stoull(wanted);
  const uint64_t first = std::random_device{}();
  std::cout << "seeds " << first << " to " << first + count - 1 << std::endl;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    ASSERT_THAT(corrupt(seed), testing::IsEmpty()) << "HOLDFAST_SEED=" << seed;
  }
}

TEST(CorruptedSegments, CanBeUsedWhileCorruptedAndAreWholeAfterARepair) {
  Try(&CorruptBetweenOperations);
}

TEST(CorruptedSegments, CanBeCorruptedWhileTheyAreUsedAndAreWholeAfterARepair) {
  Try(&CorruptInsideOperations);
}

}  // namespace
}  // namespace holdfast::test
