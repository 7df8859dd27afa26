// Names that are biased: what every other agent does with one (decision 0025).
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "core/blockers.h"
#include "core/extents.h"
#include "core/snapshot.h"
#include "core/wait_for_graph.h"
#include "segment/biased_record.h"
#include "segment/shared.h"
#include "segment/watch_ring.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;
using segment::CellState;

class BiasedLocks : public LockTableTest {
 protected:
  // Request 1 of agent a, released and biased.
  void SetUp() override {
    Request(a, u"n");
    ASSERT_TRUE(a.EndOrBias(1));
    record_ = a.biased().at(1);
  }
  void TearDown() override {
    EXPECT_THAT(segment::CheckInvariants(machine.segment()), testing::IsEmpty());
    a.FreeBiased(1);
    LockTableTest::TearDown();
  }
  CellState State() { return a.RecordOf(record_).state.Get(); }
  core::Snapshot TakeSnapshot() {
    core::LockTable lock_table = b.lock_table();
    return *core::TakeSnapshot(lock_table, kShardTimeoutNs);
  }

  // Another name of that shard.
  std::u16string_view NameInShard(uint32_t shard) {
    for (char16_t unit = u'A';; ++unit) {
      name_.assign(1, unit);
      const segment::ResourceName name(name_.data(), 1);
      if (unit != u'n' && name.ShardIn(machine.segment()) == shard) return name_;
    }
  }

  core::RecordRef record_;
  std::u16string name_;
};

TEST_F(BiasedLocks, AreAcquiredAndReleasedAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.AcquireBiased(1));
    EXPECT_TRUE(IsHeld(1));
    ASSERT_TRUE(a.ReleaseBiased(1));
    EXPECT_FALSE(IsHeld(1));
  }
}

TEST_F(BiasedLocks, HaveALargerTokenEachTime) {
  ASSERT_TRUE(a.AcquireBiased(1));
  const uint64_t first = a.mine().at(1).token;
  ASSERT_TRUE(a.ReleaseBiased(1));
  const uint64_t between = Request(b, u"other").token;
  ASSERT_TRUE(a.AcquireBiased(1));
  EXPECT_LT(first, between);
  EXPECT_LT(between, a.mine().at(1).token);
  EXPECT_EQ(a.mine().at(1).token, a.RecordOf(record_).token.Get());
}

// Runs `what` behind the store number `at` of this thread.
class AtStore {
 public:
  AtStore(int at, std::function<void()> what) : at_(at), what_(std::move(what)) {
    segment::store_observer = {[](void* self) { static_cast<AtStore*>(self)->OnStore(); }, this};
  }
  ~AtStore() { segment::store_observer = {}; }
  AtStore(const AtStore&) = delete;
  AtStore& operator=(const AtStore&) = delete;
  bool has_run() const { return has_run_; }

 private:
  void OnStore() {
    if (at_-- != 0) return;
    segment::store_observer = {};
    has_run_ = true;
    what_();
  }

  int at_;
  std::function<void()> what_;
  bool has_run_ = false;
};

TEST_F(BiasedLocks, AreClosedForAWatcherThatBeginsAnywhereInTheRelease) {
  segment::WatchRegistry watchers(machine.segment());
  bool has_run = true;
  int at = 0;
  for (; has_run; ++at) {
    const uint32_t id = IdOf(c, u"w");
    const uint64_t entries = machine.segment().header().last_entry.Get();
    bool was_held = false;
    {
      const AtStore store(at, [&] {
        watchers.Add(b.ref());
        was_held = IsHeld(id);
      });
      c.EndOrBias(id);
      has_run = store.has_run();
    }
    EXPECT_EQ(c.AcquireBiased(id), !has_run) << "store " << at;
    const uint64_t written = machine.segment().header().last_entry.Get() - entries;
    // Until the release is decided, inside the shard, the event may come as well.
    EXPECT_GE(written, was_held ? 1U : 0U) << "store " << at;
    c.FreeBiased(id);
    watchers.Remove(b.ref());
  }
  EXPECT_GT(at, 5);
}

TEST_F(BiasedLocks, AreGrantedToAnotherAgentAtOnce) {
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kGranted);
  EXPECT_EQ(State(), CellState::kRevoked);
  EXPECT_FALSE(a.AcquireBiased(1));
}

TEST_F(BiasedLocks, MakeAnotherWaitWhileTheyAreTaken) {
  ASSERT_TRUE(a.AcquireBiased(1));
  const core::RequestReply reply = Request(b, u"n");
  EXPECT_EQ(reply.outcome, RequestOutcome::kQueued);
  EXPECT_EQ(reply.blocker.process, p);
  EXPECT_EQ(State(), CellState::kHeld);
  EXPECT_FALSE(a.ReleaseBiased(1));
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(BiasedLocks, CountInTheModeOfTheirHold) {
  ASSERT_TRUE(a.AcquireBiased(1, LockMode::kShared));
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(c, u"n"), RequestOutcome::kQueued);
  EXPECT_FALSE(a.ReleaseBiased(1));
  EXPECT_TRUE(IsQueued(3));
}

TEST_F(BiasedLocks, AreMissedOnlyWhileTheyAreTaken) {
  ASSERT_TRUE(a.AcquireBiased(1));
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kMissed);
  EXPECT_FALSE(a.ReleaseBiased(1));
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kGranted);
}

TEST_F(BiasedLocks, AreStolenWhileTheyAreTaken) {
  ASSERT_TRUE(a.AcquireBiased(1));
  EXPECT_EQ(Outcome(b, u"n", kSteal), RequestOutcome::kGranted);
  EXPECT_EQ(State(), CellState::kStolen);
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
}

TEST_F(BiasedLocks, AreNotBiasedWhileAnAgentWaits) {
  Request(b, u"n");
  Request(c, u"n");
  EXPECT_FALSE(b.EndOrBias(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(BiasedLocks, AreNotBiasedBesideAnotherHolder) {
  Request(b, u"s", kShared);
  Request(c, u"s", kShared);
  EXPECT_FALSE(b.EndOrBias(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(BiasedLocks, AreNotBiasedWithALabelALimitOrAHoldLimit) {
  for (const Options& options : {kLabelled, Limited(2), HeldFor(1'000'000), Inside(17)}) {
    const uint32_t id = IdOf(b, u"l", options);
    EXPECT_FALSE(b.EndOrBias(id));
    EXPECT_FALSE(IsHeld(id));
  }
}

TEST_F(BiasedLocks, AreNotBiasedUnderTheEyesOfAWatcher) {
  segment::WatchRegistry(machine.segment()).Add(b.ref());
  EXPECT_EQ(State(), CellState::kRevoked);
  const uint32_t id = IdOf(c, u"w");
  EXPECT_FALSE(c.EndOrBias(id));
}

TEST_F(BiasedLocks, AreOrdinaryLocksForAWatcherWhileTheyAreTaken) {
  ASSERT_TRUE(a.AcquireBiased(1));
  segment::WatchRegistry(machine.segment()).Add(b.ref());
  EXPECT_EQ(State(), CellState::kHeld);
  const uint64_t before = machine.segment().header().last_entry.Get();
  EXPECT_FALSE(a.ReleaseBiased(1));
  EXPECT_EQ(machine.segment().header().last_entry.Get(), before + 1);
}

TEST_F(BiasedLocks, AreShownOnlyWhileTheyAreTaken) {
  ASSERT_TRUE(a.AcquireBiased(1));
  const core::Snapshot taken = TakeSnapshot();
  ASSERT_EQ(taken.held.size(), 1U);
  EXPECT_EQ(taken.held[0].token, a.mine().at(1).token);
  EXPECT_FALSE(a.ReleaseBiased(1));
  EXPECT_TRUE(TakeSnapshot().held.empty());
}

TEST_F(BiasedLocks, AreClosedByASnapshotAlsoWhileTheyAreIdle) {
  EXPECT_TRUE(TakeSnapshot().held.empty());
  EXPECT_FALSE(a.AcquireBiased(1));
}

TEST_F(BiasedLocks, HaveAHolderWhileTheyAreTaken) {
  core::LockTable lock_table = b.lock_table();
  ASSERT_TRUE(a.AcquireBiased(1));
  EXPECT_EQ(core::Holders(lock_table, NameOf(u"n"), kShardTimeoutNs)->size(), 1U);
}

TEST_F(BiasedLocks, HaveNoHolderWhileTheyAreIdle) {
  core::LockTable lock_table = b.lock_table();
  EXPECT_TRUE(core::Holders(lock_table, NameOf(u"n"), kShardTimeoutNs)->empty());
}

TEST_F(BiasedLocks, ShowTheirHolderWithItsTokenWhileTheyAreTaken) {
  core::LockTable lock_table = b.lock_table();
  ASSERT_TRUE(a.AcquireBiased(1));
  const auto holders = core::HoldersOf(lock_table, NameOf(u"n"), 9, kShardTimeoutNs);
  ASSERT_EQ(holders->size(), 1U);
  EXPECT_EQ((*holders)[0].info.token, a.mine().at(1).token);
}

TEST_F(BiasedLocks, ShowNoHolderWhileTheyAreIdle) {
  core::LockTable lock_table = b.lock_table();
  EXPECT_TRUE(core::HoldersOf(lock_table, NameOf(u"n"), 9, kShardTimeoutNs)->empty());
}

TEST_F(BiasedLocks, AreRevokedForAnAgentThatPublishesAnOperation) {
  segment::RevokeBiased(machine.segment(), b.ref().index, record_.shard);
  EXPECT_EQ(State(), CellState::kRevoked);
  EXPECT_FALSE(a.AcquireBiased(1));
}

// Agent b closes the biased locks of a shard. Behind its load number `countdown` agent a ends its
// record, and the extent of the record becomes room for the texts of operations.
struct Overtaken {
  FakeMachine* machine;
  FakeAgent* a;
  FakeAgent* c;
  int countdown;
  uint32_t id;                    // of the request that a has biased
  std::vector<uint32_t> extents;  // that were taken from the shard

  // The second code unit makes the cells look like biased records.
  static constexpr auto kText = static_cast<CellState>(0x2B50'0041);

  static void OnLoad(void* context) {
    auto* const self = static_cast<Overtaken*>(context);
    if (--self->countdown != 0) return;
    const segment::StoreObserver observer = std::exchange(segment::store_observer, {});
    self->a->FreeBiased(self->id);
    core::LockTable lock_table = self->c->lock_table();
    (void)core::ReclaimExtents(lock_table, kShardTimeoutNs);
    segment::Segment& segment = self->machine->segment();
    for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
      if (segment.extent_owner(extent).Get() != 0) continue;
      self->extents.push_back(extent);
      for (uint32_t i = 0; i < segment.geometry().cells_per_extent; ++i) {
        segment.CellInExtent(extent, i)->state.Set(kText);
      }
    }
    segment::store_observer = observer;
  }
};

TEST_F(BiasedLocks, AreNotClosedWhereTheTextOfAnOperationStandsByNow) {
  segment::Segment& segment = machine.segment();
  const uint32_t shard = record_.shard;
  for (int loads = 1;; ++loads) {
    if (a.biased().empty()) {
      const uint32_t id = IdOf(a, u"n");
      ASSERT_TRUE(a.EndOrBias(id));
      record_ = a.biased().at(id);
    }
    Overtaken overtaken{&machine, &a, &c, loads, a.biased().begin()->first, {}};
    segment::store_observer = {nullptr, &overtaken, &Overtaken::OnLoad};
    segment::RevokeBiased(segment, b.ref().index, shard);
    segment::store_observer = {};
    for (const uint32_t extent : overtaken.extents) {
      for (uint32_t i = 0; i < segment.geometry().cells_per_extent; ++i) {
        segment::AnyCell& cell = *segment.CellInExtent(extent, i);
        EXPECT_EQ(cell.state.Get(), Overtaken::kText) << "behind load " << loads;
        cell.state.Set(CellState::kFree);
      }
    }
    if (overtaken.countdown > 0) break;
  }
}

TEST_F(BiasedLocks, OfADeadAgentAreFree) {
  machine.Kill(p);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kGranted);
  ASSERT_TRUE(b.lock_table().Reap(p, kShardTimeoutNs).ok());
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(BiasedLocks, ThatADeadAgentHasTakenAreReaped) {
  ASSERT_TRUE(a.AcquireBiased(1));
  machine.Kill(p);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
  ASSERT_TRUE(b.lock_table().Reap(p, kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(BiasedLocks, FreeTheirCellsWithTheirAgent) {
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(BiasedLocks, KeepTheirCellWhenAnotherTakesTheName) {
  Request(b, u"n");
  for (int i = 0; i < 8; ++i) Request(c, std::u16string(1, static_cast<char16_t>('A' + i)));
  EXPECT_EQ(State(), CellState::kRevoked);
  EXPECT_EQ(a.RecordOf(record_).ticket.Get(), record_.ticket);
}

TEST_F(BiasedLocks, ThatWereClosedCostNothingOnceTheirAgentHasFreedThem) {
  Request(b, u"n");
  a.FreeBiased(1);
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(BiasedLocks, AreClosedByARepair) {
  machine.segment().shard(record_.shard).dirty.Set(1);
  Request(b, u"n");
  EXPECT_EQ(State(), CellState::kRevoked);
  for (const auto& slot : machine.segment().shard(record_.shard).biased) {
    EXPECT_EQ(slot.Get(), segment::kNoCell);
  }
}

TEST_F(BiasedLocks, ThatAreTakenSurviveARepair) {
  ASSERT_TRUE(a.AcquireBiased(1));
  machine.segment().shard(record_.shard).dirty.Set(1);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
  EXPECT_FALSE(a.ReleaseBiased(1));
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(BiasedLocks, DoNotMatchTheStatesOfAnotherTicket) {
  EXPECT_FALSE(segment::AcquireBiased(a.RecordOf(record_), record_.ticket + 1, {1, 1, 0}));
  EXPECT_NE(segment::BiasedHeldState(record_.ticket), segment::BiasedHeldState(record_.ticket + 1));
}

TEST_F(BiasedLocks, LeaveNoNameBehindWhenAFullTableRefusesTheNextRequest) {
  for (char16_t unit = 0x100; c.Request(++last_id, std::u16string(40, unit), kExclusive).ok();) {
    ++unit;
  }
  const Result<core::RequestReply> refused =
      b.Request(++last_id, u"n", {.label = std::u16string_view(u"a label that needs a cell")});
  EXPECT_EQ(refused.status().code(), StatusCode::kSegmentFull);
  EXPECT_THAT(segment::CheckInvariants(machine.segment()), testing::IsEmpty());
}

TEST_F(BiasedLocks, HaveRoomForAFewInAShard) {
  segment::ShardHeader& shard = machine.segment().shard(record_.shard);
  for (segment::Shared<segment::CellId>& slot : shard.biased) {
    if (slot.Get() == segment::kNoCell) slot.Set(record_.cell);
  }
  ASSERT_TRUE(a.AcquireBiased(1));
  const std::u16string_view other = NameInShard(record_.shard);
  const uint32_t id = IdOf(b, other);
  EXPECT_FALSE(b.EndOrBias(id));
  EXPECT_FALSE(IsHeld(id));
  a.FreeBiased(1);
  const uint32_t next = IdOf(b, other);
  EXPECT_TRUE(b.EndOrBias(next));
  b.FreeBiased(next);
}

}  // namespace
}  // namespace holdfast::test
