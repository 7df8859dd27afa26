// Names that are kept: what every other agent does with one (decision 0025).
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "core/blockers.h"
#include "core/extents.h"
#include "core/snapshot.h"
#include "core/wait_for_graph.h"
#include "segment/kept_record.h"
#include "segment/shared.h"
#include "segment/watch_ring.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;
using segment::CellState;

class KeptNames : public LockTableTest {
 protected:
  // Request 1 of agent a, released and kept.
  void SetUp() override {
    Ask(a, u"n");
    ASSERT_TRUE(a.EndOrKeep(1));
    record_ = a.kept().at(1);
  }
  void TearDown() override {
    EXPECT_THAT(segment::CheckInvariants(machine.segment()), testing::IsEmpty());
    a.FreeKept(1);
    LockTableTest::TearDown();
  }
  CellState State() { return a.RecordOf(record_).state.Get(); }
  core::Snapshot TakeSnapshot() {
    core::LockManager manager = b.manager();
    return *core::TakeSnapshot(manager, kShardTimeoutNs);
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

TEST_F(KeptNames, AreTakenAndGivenBackAgainAndAgain) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.TakeKept(1));
    EXPECT_TRUE(IsHeld(1));
    ASSERT_TRUE(a.GiveBack(1));
    EXPECT_FALSE(IsHeld(1));
  }
}

TEST_F(KeptNames, HaveALargerTokenEachTime) {
  ASSERT_TRUE(a.TakeKept(1));
  const uint64_t first = a.mine().at(1).token;
  ASSERT_TRUE(a.GiveBack(1));
  const uint64_t between = Ask(b, u"other").token;
  ASSERT_TRUE(a.TakeKept(1));
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

TEST_F(KeptNames, AreClosedForAWatcherThatBeginsAnywhereInTheRelease) {
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
      c.EndOrKeep(id);
      has_run = store.has_run();
    }
    EXPECT_EQ(c.TakeKept(id), !has_run) << "store " << at;
    const uint64_t written = machine.segment().header().last_entry.Get() - entries;
    // Until the release is decided, inside the shard, the event may come as well.
    EXPECT_GE(written, was_held ? 1U : 0U) << "store " << at;
    c.FreeKept(id);
    watchers.Remove(b.ref());
  }
  EXPECT_GT(at, 5);
}

TEST_F(KeptNames, AreGrantedToAnotherAgentAtOnce) {
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kGranted);
  EXPECT_EQ(State(), CellState::kRevoked);
  EXPECT_FALSE(a.TakeKept(1));
}

TEST_F(KeptNames, MakeAnotherWaitWhileTheyAreTaken) {
  ASSERT_TRUE(a.TakeKept(1));
  const core::RequestReply reply = Ask(b, u"n");
  EXPECT_EQ(reply.outcome, RequestOutcome::kQueued);
  EXPECT_EQ(reply.blocker.process, p);
  EXPECT_EQ(State(), CellState::kHeld);
  EXPECT_FALSE(a.GiveBack(1));
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(KeptNames, CountInTheModeOfTheirHold) {
  ASSERT_TRUE(a.TakeKept(1, LockMode::kShared));
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(c, u"n"), RequestOutcome::kQueued);
  EXPECT_FALSE(a.GiveBack(1));
  EXPECT_TRUE(IsQueued(3));
}

TEST_F(KeptNames, AreMissedOnlyWhileTheyAreTaken) {
  ASSERT_TRUE(a.TakeKept(1));
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kMissed);
  EXPECT_FALSE(a.GiveBack(1));
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kGranted);
}

TEST_F(KeptNames, AreStolenWhileTheyAreTaken) {
  ASSERT_TRUE(a.TakeKept(1));
  EXPECT_EQ(Outcome(b, u"n", kSteal), RequestOutcome::kGranted);
  EXPECT_EQ(State(), CellState::kStolen);
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
}

TEST_F(KeptNames, AreNotKeptWhileSomebodyWaits) {
  Ask(b, u"n");
  Ask(c, u"n");
  EXPECT_FALSE(b.EndOrKeep(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(KeptNames, AreNotKeptBesideAnotherHolder) {
  Ask(b, u"s", kShared);
  Ask(c, u"s", kShared);
  EXPECT_FALSE(b.EndOrKeep(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(KeptNames, AreNotKeptWithALabelALimitOrAHoldLimit) {
  for (const Options& options : {kLabelled, Limited(2), HeldFor(1'000'000), Inside(17)}) {
    const uint32_t id = IdOf(b, u"l", options);
    EXPECT_FALSE(b.EndOrKeep(id));
    EXPECT_FALSE(IsHeld(id));
  }
}

TEST_F(KeptNames, AreNotKeptUnderTheEyesOfAWatcher) {
  segment::WatchRegistry(machine.segment()).Add(b.ref());
  EXPECT_EQ(State(), CellState::kRevoked);
  const uint32_t id = IdOf(c, u"w");
  EXPECT_FALSE(c.EndOrKeep(id));
}

TEST_F(KeptNames, AreOrdinaryLocksForAWatcherWhileTheyAreTaken) {
  ASSERT_TRUE(a.TakeKept(1));
  segment::WatchRegistry(machine.segment()).Add(b.ref());
  EXPECT_EQ(State(), CellState::kHeld);
  const uint64_t before = machine.segment().header().last_entry.Get();
  EXPECT_FALSE(a.GiveBack(1));
  EXPECT_EQ(machine.segment().header().last_entry.Get(), before + 1);
}

TEST_F(KeptNames, AreShownOnlyWhileTheyAreTaken) {
  ASSERT_TRUE(a.TakeKept(1));
  const core::Snapshot taken = TakeSnapshot();
  ASSERT_EQ(taken.held.size(), 1U);
  EXPECT_EQ(taken.held[0].token, a.mine().at(1).token);
  EXPECT_FALSE(a.GiveBack(1));
  EXPECT_TRUE(TakeSnapshot().held.empty());
}

TEST_F(KeptNames, AreClosedByASnapshotAlsoWhileTheyAreIdle) {
  EXPECT_TRUE(TakeSnapshot().held.empty());
  EXPECT_FALSE(a.TakeKept(1));
}

TEST_F(KeptNames, HaveAHolderWhileTheyAreTaken) {
  core::LockManager manager = b.manager();
  ASSERT_TRUE(a.TakeKept(1));
  EXPECT_EQ(core::Holders(manager, NameOf(u"n"), kShardTimeoutNs)->size(), 1U);
}

TEST_F(KeptNames, HaveNoHolderWhileTheyAreIdle) {
  core::LockManager manager = b.manager();
  EXPECT_TRUE(core::Holders(manager, NameOf(u"n"), kShardTimeoutNs)->empty());
}

TEST_F(KeptNames, ShowTheirHolderWithItsTokenWhileTheyAreTaken) {
  core::LockManager manager = b.manager();
  ASSERT_TRUE(a.TakeKept(1));
  const auto holders = core::HoldersOf(manager, NameOf(u"n"), 9, kShardTimeoutNs);
  ASSERT_EQ(holders->size(), 1U);
  EXPECT_EQ((*holders)[0].info.token, a.mine().at(1).token);
}

TEST_F(KeptNames, ShowNoHolderWhileTheyAreIdle) {
  core::LockManager manager = b.manager();
  EXPECT_TRUE(core::HoldersOf(manager, NameOf(u"n"), 9, kShardTimeoutNs)->empty());
}

TEST_F(KeptNames, AreClosedForWhomeverPutsAnOperationIntoTheIntake) {
  segment::CloseKept(machine.segment(), b.ref().index, record_.shard);
  EXPECT_EQ(State(), CellState::kRevoked);
  EXPECT_FALSE(a.TakeKept(1));
}

// Agent b closes the kept names of a shard. Behind its load number `countdown` agent a ends its
// record, and the extent of the record becomes room for the texts of operations.
struct Overtaken {
  FakeMachine* machine;
  FakeAgent* a;
  FakeAgent* c;
  int countdown;
  uint32_t id;                    // of the request that a has kept
  std::vector<uint32_t> extents;  // that were taken from the shard

  // The second code unit makes the cells look like kept records.
  static constexpr auto kText = static_cast<CellState>(0x2B50'0041);

  static void OnLoad(void* context) {
    auto* const self = static_cast<Overtaken*>(context);
    if (--self->countdown != 0) return;
    const segment::StoreObserver observer = std::exchange(segment::store_observer, {});
    self->a->FreeKept(self->id);
    core::LockManager manager = self->c->manager();
    (void)core::ReclaimExtents(manager, kShardTimeoutNs);
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

TEST_F(KeptNames, AreNotClosedWhereTheTextOfAnOperationStandsByNow) {
  segment::Segment& segment = machine.segment();
  const uint32_t shard = record_.shard;
  for (int loads = 1;; ++loads) {
    if (a.kept().empty()) {
      const uint32_t id = IdOf(a, u"n");
      ASSERT_TRUE(a.EndOrKeep(id));
      record_ = a.kept().at(id);
    }
    Overtaken overtaken{&machine, &a, &c, loads, a.kept().begin()->first, {}};
    segment::store_observer = {nullptr, &overtaken, &Overtaken::OnLoad};
    segment::CloseKept(segment, b.ref().index, shard);
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

TEST_F(KeptNames, OfADeadAgentAreFree) {
  machine.Kill(p);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kGranted);
  ASSERT_TRUE(b.manager().ReapProcess(p, kShardTimeoutNs).ok());
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(KeptNames, ThatADeadAgentHasTakenAreReaped) {
  ASSERT_TRUE(a.TakeKept(1));
  machine.Kill(p);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
  ASSERT_TRUE(b.manager().ReapProcess(p, kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(KeptNames, GiveBackTheirCellsWithTheirAgent) {
  ASSERT_TRUE(a.manager().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(KeptNames, KeepTheirCellWhenAnotherTakesTheName) {
  Ask(b, u"n");
  for (int i = 0; i < 8; ++i) Ask(c, std::u16string(1, static_cast<char16_t>('A' + i)));
  EXPECT_EQ(State(), CellState::kRevoked);
  EXPECT_EQ(a.RecordOf(record_).ticket.Get(), record_.ticket);
}

TEST_F(KeptNames, ThatWereClosedCostNothingOnceTheirAgentHasFreedThem) {
  Ask(b, u"n");
  a.FreeKept(1);
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(KeptNames, AreClosedByARepair) {
  machine.segment().shard(record_.shard).dirty.Set(1);
  Ask(b, u"n");
  EXPECT_EQ(State(), CellState::kRevoked);
  for (const auto& place : machine.segment().shard(record_.shard).kept) {
    EXPECT_EQ(place.Get(), segment::kNoCell);
  }
}

TEST_F(KeptNames, ThatAreTakenSurviveARepair) {
  ASSERT_TRUE(a.TakeKept(1));
  machine.segment().shard(record_.shard).dirty.Set(1);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
  EXPECT_FALSE(a.GiveBack(1));
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(KeptNames, DoNotMatchTheWordsOfAnotherTicket) {
  EXPECT_FALSE(segment::TakeKept(a.RecordOf(record_), record_.ticket + 1, {1, 1, 0}));
  EXPECT_NE(segment::TakenState(record_.ticket), segment::TakenState(record_.ticket + 1));
}

TEST_F(KeptNames, LeaveNoNameBehindWhenAFullTableRefusesTheNextRequest) {
  for (char16_t unit = 0x100; c.Request(++last_id, std::u16string(40, unit), kExclusive).ok();) {
    ++unit;
  }
  const Result<core::RequestReply> refused =
      b.Request(++last_id, u"n", {.label = std::u16string_view(u"a label that needs a cell")});
  EXPECT_EQ(refused.status().code(), StatusCode::kSegmentFull);
  EXPECT_THAT(segment::CheckInvariants(machine.segment()), testing::IsEmpty());
}

TEST_F(KeptNames, HaveRoomForAFewInAShard) {
  segment::ShardHeader& shard = machine.segment().shard(record_.shard);
  for (segment::Shared<segment::CellId>& place : shard.kept) {
    if (place.Get() == segment::kNoCell) place.Set(record_.cell);
  }
  ASSERT_TRUE(a.TakeKept(1));
  const std::u16string_view other = NameInShard(record_.shard);
  const uint32_t id = IdOf(b, other);
  EXPECT_FALSE(b.EndOrKeep(id));
  EXPECT_FALSE(IsHeld(id));
  a.FreeKept(1);
  const uint32_t next = IdOf(b, other);
  EXPECT_TRUE(b.EndOrKeep(next));
  b.FreeKept(next);
}

}  // namespace
}  // namespace holdfast::test
