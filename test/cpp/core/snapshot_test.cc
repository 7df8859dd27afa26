// Standard: Web Locks "snapshot the lock state" (#algorithm-snapshot-state).
#include "core/snapshot.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <utility>

#include "segment/shared.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::LockInfo;
using core::Snapshot;
using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A lock as a line: name, mode, number of the agent.
std::string Line(const LockInfo& info) {
  const std::string name(info.name.begin(), info.name.end());
  const char* const mode = info.mode == LockMode::kExclusive ? " exclusive " : " shared ";
  return name + mode + std::to_string(info.client_id[0]);
}

std::vector<std::string> Lines(const std::vector<LockInfo>& infos) {
  std::vector<std::string> lines;
  for (const LockInfo& info : infos) lines.push_back(Line(info));
  return lines;
}

class SnapshotTest : public LockTableTest {
 protected:
  Snapshot Take(FakeAgent& by) {
    core::LockTable lock_table = by.lock_table();
    Result<Snapshot> snapshot = core::TakeSnapshot(lock_table, kShardTimeoutNs);
    EXPECT_TRUE(snapshot.ok());
    return snapshot.ok() ? std::move(*snapshot) : Snapshot{};
  }
};

TEST_F(SnapshotTest, IsEmptyInAnEmptySegment) {
  EXPECT_THAT(Take(a).held, IsEmpty());
  EXPECT_THAT(Take(a).pending, IsEmpty());
}

TEST_F(SnapshotTest, ShowsHeldAndPendingInTheOrderOfTheRequests) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  Request(c, u"n");
  Request(a2, u"n", kShared);
  const Snapshot snapshot = Take(c);
  EXPECT_THAT(Lines(snapshot.held), ElementsAre("n shared 0", "n shared 2"));
  EXPECT_THAT(Lines(snapshot.pending), ElementsAre("n exclusive 3", "n shared 1"));
}

TEST_F(SnapshotTest, ShowsTheNamesOfAllShards) {
  const std::u16string names[] = {u"0", u"1", u"2", u"3", u"4", u"5"};
  for (const std::u16string& name : names) Request(a, name);
  EXPECT_EQ(Take(b).held.size(), 6U);
}

TEST_F(SnapshotTest, ShowsLongNamesWhole) {
  std::u16string name;
  for (char16_t unit = 0; unit < 700; ++unit) name.push_back(static_cast<char16_t>(0xD700 + unit));
  Request(a, name);
  ASSERT_EQ(Take(b).held.size(), 1U);
  EXPECT_EQ(Take(b).held[0].name, name);
}

TEST_F(SnapshotTest, ShowsNeitherStolenLocksNorZombies) {
  Request(a, u"n");
  Request(b, u"n", kSteal);
  Request(c, u"n");
  ASSERT_TRUE(b.End(2).ok());
  ASSERT_TRUE(c.End(3).ok());
  EXPECT_THAT(Take(a).held, IsEmpty());
  EXPECT_THAT(Take(a).pending, IsEmpty());
}

TEST_F(SnapshotTest, HidesWhatTheDeadHoldAndNamesThem) {
  Request(a, u"n");
  Request(b, u"n");
  machine.Kill(p);
  const Snapshot snapshot = Take(b);
  EXPECT_THAT(snapshot.held, IsEmpty());
  EXPECT_THAT(Lines(snapshot.pending), ElementsAre("n exclusive 2"));
  EXPECT_THAT(snapshot.dead, ElementsAre(p));
}

TEST_F(SnapshotTest, LeavesEveryShardUnlocked) {
  Request(a, u"n");
  Take(b);
  for (uint32_t i = 0; i < machine.segment().geometry().shards; ++i) {
    EXPECT_FALSE(segment::LockWord(machine.segment(), i).IsLocked());
  }
}

TEST_F(SnapshotTest, IsBusyAndLeavesTheOtherShardsUnlockedWhenOneIsKeptLocked) {
  segment::LockWord last(machine.segment(), 1);
  ASSERT_TRUE(IsAcquired(last, q));
  core::LockTable lock_table = a.lock_table();
  EXPECT_EQ(core::TakeSnapshot(lock_table, kShardTimeoutNs).status().code(), StatusCode::kBusy);
  EXPECT_FALSE(segment::LockWord(machine.segment(), 0).IsLocked());
  last.Release(q, machine.host());
}

// A corrupted length must not become that much memory.
TEST_F(SnapshotTest, LeavesOutANameThatIsLongerThanTheSegment) {
  Request(a, std::u16string(200, u'x'));
  for (uint32_t i = 0; i < machine.segment().geometry().cells(); ++i) {
    segment::AnyCell& cell = *machine.segment().CellByNumber(i);
    if (cell.state.Get() == segment::CellState::kName) {
      segment::AsName(cell).length.Set(0xFFFFFFFF);
    } else if (cell.state.Get() == segment::CellState::kText) {
      segment::AsText(cell).following.Set(i + 1);
    }
  }
  EXPECT_THAT(Take(b).held, IsEmpty());
  machine.segment().shard(0).dirty.Set(1);
  machine.segment().shard(1).dirty.Set(1);
  Take(b);
}

// Passes a lock on from one name to another and back: at every moment it holds one of them, or
// both. A picture that was put together of several moments may miss it. The names are of two
// shards.
class PassedOn : public SnapshotTest {
 protected:
  PassedOn() {
    while (ShardOf(names[1]) == ShardOf(names[0])) ++names[1][0];
    held = IdOf(b, names[0]);
  }

  uint32_t ShardOf(const std::u16string& name) const {
    return NameOf(name).ShardIn(machine.segment());
  }
  void PassOn() {
    const uint32_t next = IdOf(b, names[++turn % std::size(names)]);
    EXPECT_TRUE(b.End(held).ok());
    held = next;
  }
  // By who takes a picture, behind each of its loads; so often.
  static void OnLoad(void* self) { static_cast<PassedOn*>(self)->PassOnIfNoThreadIsInside(); }
  void PassOnIfNoThreadIsInside() {
    for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
      if (machine.segment().shard(shard).lock_word.atomic()->load() != 0) return;
    }
    if (turns_left == 0) return;
    --turns_left;
    const segment::StoreObserver observer = std::exchange(segment::store_observer, {});
    PassOn();
    segment::store_observer = observer;
  }

  // Counts the shards that are locked then, too.
  static void OnStoreOrLoad(void* self) {
    auto* const test = static_cast<PassedOn*>(self);
    int locked = 0;
    for (uint32_t i = 0; i < test->machine.segment().geometry().shards; ++i) {
      locked += test->machine.segment().shard(i).lock_word.atomic()->load() != 0 ? 1 : 0;
    }
    test->most_locked = std::max(test->most_locked, locked);
    test->PassOnIfNoThreadIsInside();
  }

  std::u16string names[2] = {u"0", u"1"};
  int most_locked = 0;
  size_t turn = 0;
  uint32_t held = 0;
  int turns_left = 0;
};

TEST_F(PassedOn, IsSeenOnceWheneverItIsPassedOn) {
  constexpr int kMax = 40;
  for (int turns = 0; turns < kMax; ++turns) {
    turns_left = turns;
    segment::store_observer = {nullptr, this, &OnLoad};
    const Snapshot snapshot = Take(a);
    segment::store_observer = {};
    EXPECT_THAT(Lines(snapshot.held), SizeIs(1)) << turns;
  }
  EXPECT_GT(turn, size_t{kMax});
}

// Wherever the process of a snapshot is stopped, one shard is busy at most.
TEST_F(PassedOn, NeverMakesASnapshotKeepTwoShards) {
  turns_left = 10'000;  // more than there are copies
  segment::store_observer = {&OnStoreOrLoad, this, &OnStoreOrLoad};
  Take(a);
  segment::store_observer = {};
  EXPECT_EQ(most_locked, 1);
}

TEST_F(PassedOn, IsSeenByACopyMeanwhileOfItsShard) {
  while (ShardOf(names[1]) != ShardOf(names[0])) ++names[1][0];
  constexpr int kSnapshots = 1000;
  b.BePatient();
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) PassOn();
  });
  core::LockTable lock_table = a.lock_table();
  for (int taken = 0; taken < kSnapshots && !HasFailure();) {
    const Result<Snapshot> snapshot = core::TakeSnapshot(lock_table, kShardTimeoutNs);
    if (snapshot.status().code() == StatusCode::kBusy) continue;
    EXPECT_TRUE(snapshot.ok());
    if (!snapshot.ok()) break;
    EXPECT_THAT(Lines(snapshot->held), AnyOf(SizeIs(1), SizeIs(2)));
    ++taken;
  }
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace holdfast::test
