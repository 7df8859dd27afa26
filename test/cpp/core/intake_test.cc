// The intake of a shard, with an owner that stays inside: what others ask meanwhile has its place.
#include "segment/intake.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <list>

#include "core/operation_executor.h"
#include "core/operation_pool.h"
#include "core/snapshot.h"
#include "segment/shared.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;
using segment::CellState;
using segment::OperationCell;
using segment::OperationKind;
using segment::OperationState;

constexpr std::u16string_view kName = u"x";

class Intake : public LockTableTest {
 protected:
  // Process r is inside the shard, and stays there.
  void SetUp() override { ASSERT_TRUE(IsAcquired(word_, r)); }
  // Without a look at the intake, as after a death.
  void LeaveShard() { word_.Release(r, machine.host()); }

  OperationCell& New(FakeAgent& agent, OperationKind kind, uint32_t id) {
    pools_.emplace_back(machine.segment(), machine.host(), agent.ref().process);
    const Result<core::OperationPlace> place = pools_.back().Take(1);
    EXPECT_TRUE(place.ok());
    last_place_ = *place;
    OperationCell& cell = *segment::OperationAt(machine.segment(), place->id);
    cell.shard.Set(shard_);
    cell.kind.Set(kind);
    cell.process_slot.Set(agent.ref().process.slot);
    cell.process_generation.Set(agent.ref().process.generation);
    cell.agent.Set(agent.ref().index);
    cell.agent_generation.Set(agent.ref().generation);
    cell.request_id.Set(id);
    return cell;
  }
  OperationCell& PutInRequest(FakeAgent& agent, const Options& options = kExclusive,
                              uint32_t id = 0) {
    OperationCell& cell = New(agent, OperationKind::kRequest, id == 0 ? ++last_id : id);
    const auto if_available = options.if_available ? segment::kOperationIfAvailable : 0;
    const auto steals = options.steal ? segment::kOperationSteals : 0;
    cell.flags.Set(static_cast<uint8_t>(if_available | steals));
    cell.mode.Set(static_cast<uint8_t>(options.mode));
    segment::WriteTexts(machine.segment(), cell, last_place_.text, {kName, u"", u""});
    agent.manager().PutIn(last_place_.id, cell);
    return cell;
  }
  OperationCell& PutInEnd(FakeAgent& agent, const core::RecordRef& record) {
    OperationCell& cell = New(agent, OperationKind::kEnd, last_id);
    cell.cell.Set(record.cell);
    cell.ticket.Set(record.ticket);
    agent.manager().PutIn(last_place_.id, cell);
    return cell;
  }
  static bool IsPending(const OperationCell& cell) {
    return cell.state.Get() == OperationState::kPending;
  }
  static RequestOutcome OutcomeOf(const OperationCell& cell) {
    EXPECT_FALSE(IsPending(cell));
    const Result<core::RequestReply> reply = core::ReplyOf(cell);
    EXPECT_TRUE(reply.ok());
    return reply->outcome;
  }
  // A living agent enters, and has nothing to do.
  void Enter(FakeAgent& agent) {
    core::LockManager manager = agent.manager();
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    ASSERT_TRUE(manager.Enter(shard_, wake_queue, kShardTimeoutNs).ok());
  }
  bool WasAnswered(FakeAgent& agent) {
    return machine.segment().agent(agent.ref().index).answered.Get() != 0;
  }

  const uint32_t shard_ = NameOf(kName).ShardIn(machine.segment());
  segment::LockWord word_{machine.segment(), shard_};
  std::list<core::OperationPool> pools_;
  core::OperationPlace last_place_;
};

TEST_F(Intake, GivesARequestItsPlaceBeforeThoseThatComeLater) {
  const OperationCell& first = PutInRequest(a);
  EXPECT_TRUE(IsPending(first));
  LeaveShard();
  EXPECT_EQ(Outcome(b, kName), RequestOutcome::kQueued);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_TRUE(WasAnswered(a));
}

TEST_F(Intake, IsNotOvertakenByTheAgentThatKeepsTheName) {
  LeaveShard();
  const uint32_t id = IdOf(a, kName);
  ASSERT_TRUE(a.EndOrKeep(id));
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& first = PutInRequest(b);
  EXPECT_TRUE(IsPending(first));
  EXPECT_FALSE(a.TakeKept(id));
  LeaveShard();
  a.FreeKept(id);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
}

TEST_F(Intake, MakesAHoldOfTheShortWayAnOrdinaryOne) {
  LeaveShard();
  const uint32_t id = IdOf(a, kName);
  ASSERT_TRUE(a.EndOrKeep(id));
  ASSERT_TRUE(a.TakeKept(id));
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& first = PutInRequest(b);
  LeaveShard();
  EXPECT_FALSE(a.GiveBack(id));
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kQueued);
  EXPECT_TRUE(IsHeld(last_id));
}

TEST_F(Intake, IsExecutedInTheOrderInWhichItCame) {
  const OperationCell& first = PutInRequest(a);
  const OperationCell& second = PutInRequest(b);
  const OperationCell& third = PutInRequest(a2, kShared);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kQueued);
  EXPECT_EQ(OutcomeOf(third), RequestOutcome::kQueued);
}

TEST_F(Intake, IsExecutedByWhoeverUnlocks) {
  LeaveShard();
  core::LockManager owner = c.manager();
  const OperationCell* cell = nullptr;
  {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    const auto lock = owner.Enter(shard_, wake_queue, kShardTimeoutNs);
    ASSERT_TRUE(lock.ok());
    cell = &PutInRequest(a);
    EXPECT_TRUE(IsPending(*cell));
  }
  EXPECT_EQ(OutcomeOf(*cell), RequestOutcome::kGranted);
}

TEST_F(Intake, IsExecutedByItsAgentWhenTheShardIsFree) {
  LeaveShard();
  EXPECT_EQ(OutcomeOf(PutInRequest(a)), RequestOutcome::kGranted);
}

TEST_F(Intake, MakesAReleaseTakeEffectBeforeWhatComesLater) {
  LeaveShard();
  const core::RecordRef held = Ask(a, kName).record;
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& end = PutInEnd(a, held);
  LeaveShard();
  EXPECT_EQ(Outcome(b, kName, kIfAvailable), RequestOutcome::kGranted);
  EXPECT_EQ(end.ended.Get(), CellState::kHeld);
}

TEST_F(Intake, TellsAReleaseThatTheLockWasStolenBefore) {
  LeaveShard();
  const core::RecordRef held = Ask(a, kName).record;
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& thief = PutInRequest(b, kSteal);
  const OperationCell& end = PutInEnd(a, held);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(thief), RequestOutcome::kGranted);
  EXPECT_EQ(end.ended.Get(), CellState::kStolen);
}

TEST_F(Intake, RefusesARequestThatIsNotToWaitAtItsPlace) {
  const OperationCell& first = PutInRequest(a);
  const OperationCell& second = PutInRequest(b, kIfAvailable);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kMissed);
}

TEST_F(Intake, IsFoundByARepairWithoutItsLinks) {
  const OperationCell& first = PutInRequest(b);
  const OperationCell& second = PutInRequest(a);
  // Its owner took the stack, and died.
  machine.segment().shard(shard_).intake.Exchange(segment::kNoCell);
  machine.Kill(r);
  Enter(a2);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kQueued);
  EXPECT_EQ(first.state.Get(), OperationState::kExecuted);
}

TEST_F(Intake, IsNotExecutedTwiceWhenTheOwnerDiesBeforeItMarksIt) {
  LeaveShard();
  const core::RequestReply placed = Ask(a, kName);
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& again = PutInRequest(a, kExclusive, last_id);
  machine.segment().shard(shard_).intake.Exchange(segment::kNoCell);
  machine.Kill(r);
  Enter(b);
  EXPECT_EQ(OutcomeOf(again), RequestOutcome::kGranted);
  EXPECT_EQ(core::ReplyOf(again)->record.ticket, placed.record.ticket);
  EXPECT_EQ(UsedCells(), 2U);
}

TEST_F(Intake, TellsWhatAnEndFoundAlsoWhenTheOwnerDiesBeforeItMarksIt) {
  LeaveShard();
  const core::RecordRef held = Ask(a, kName).record;
  ASSERT_TRUE(IsAcquired(word_, r));
  OperationCell& end = PutInEnd(a, held);
  machine.segment().shard(shard_).intake.Exchange(segment::kNoCell);
  LeaveShard();
  ASSERT_TRUE(a.manager().End(held, kShardTimeoutNs).ok());
  end.ended.Set(CellState::kHeld);
  ASSERT_TRUE(IsAcquired(word_, r));
  machine.Kill(r);
  Enter(b);
  EXPECT_EQ(end.state.Get(), OperationState::kExecuted);
  EXPECT_EQ(end.ended.Get(), CellState::kHeld);
}

TEST_F(Intake, OfADeadAgentIsEndedWithIt) {
  PutInRequest(a);
  LeaveShard();
  machine.Kill(p);
  ASSERT_TRUE(b.manager().ReapProcess(p, kShardTimeoutNs).ok());
  EXPECT_EQ(UsedCells(), 0U);
  EXPECT_EQ(Outcome(b, kName), RequestOutcome::kGranted);
}

// Corruption may lose the links to its operations until a repair.
TEST_F(Intake, OfAnAgentIsEndedWithItThoughTheShardIsDamaged) {
  const OperationCell& lost = PutInRequest(a);
  machine.segment().shard(shard_).intake.Exchange(segment::kNoCell);
  machine.segment().shard(shard_).dirty.Set(1);
  LeaveShard();
  ASSERT_TRUE(a.manager().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_FALSE(IsPending(lost));
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(Intake, OfAnAgentIsEndedWithItThoughARepairFindsDamageAgain) {
  PutInRequest(b);
  const OperationCell& second = PutInRequest(a);
  segment::ShardHeader& shard = machine.segment().shard(shard_);
  shard.intake.Exchange(segment::kNoCell);
  shard.dirty.Set(1);
  LeaveShard();
  segment::store_observer = {[](void* self) {
                               auto& at = *static_cast<segment::ShardHeader*>(self);
                               if (at.used_count.Get() == 0) return;
                               segment::store_observer = {};
                               at.dirty.Set(1);  // while the first one is executed
                             },
                             &shard};
  ASSERT_TRUE(a.manager().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_FALSE(IsPending(second));
  EXPECT_EQ(UsedCells(), 2U);  // the lock of b and its name
}

// The reaper may have passed this shard already: the record would have no owner.
TEST_F(Intake, IsNotExecutedForAProcessThatDiedBeforeItWasLinked) {
  const OperationCell& unlinked = PutInRequest(a);
  machine.segment().shard(shard_).intake.Exchange(segment::kNoCell);
  machine.Kill(p);
  machine.Kill(r);
  Enter(b);
  EXPECT_EQ(unlinked.state.Get(), OperationState::kExecuted);
  EXPECT_EQ(UsedCells(), 0U);
  EXPECT_EQ(Outcome(b, kName), RequestOutcome::kGranted);
}

TEST_F(Intake, KeepsAProcessFromBeingReapedUntilItIsExecuted) {
  PutInRequest(a);
  machine.Kill(p);
  EXPECT_EQ(b.manager().ReapProcess(p, 0).code(), StatusCode::kBusy);
  LeaveShard();
  EXPECT_TRUE(b.manager().ReapProcess(p, 0).ok());
}

TEST_F(Intake, LeavesTheExtentsOfADeadProcessAloneUntilItIsReaped) {
  PutInRequest(a);
  machine.Kill(p);
  core::ExtentGrowth growth(machine.segment(), machine.host(), q);
  const uint32_t extents = machine.segment().geometry().extents;
  const uint32_t cells = machine.segment().geometry().cells_per_extent;
  EXPECT_FALSE(growth.Claim(extents * cells).ok());
  LeaveShard();
  ASSERT_TRUE(b.manager().ReapProcess(p, kShardTimeoutNs).ok());
  // One is the shard's now, where the request was executed.
  EXPECT_TRUE(growth.Claim((extents - 1) * cells).ok());
}

TEST_F(Intake, BelongsToASnapshot) {
  PutInRequest(a);
  LeaveShard();
  core::LockManager manager = b.manager();
  const Result<core::Snapshot> snapshot = core::TakeSnapshot(manager, kShardTimeoutNs);
  ASSERT_TRUE(snapshot.ok());
  ASSERT_EQ(snapshot->held.size(), 1U);
}

TEST_F(Intake, ThatIsDamagedIsRepaired) {
  const OperationCell& first = PutInRequest(a);
  const OperationCell& second = PutInRequest(b);
  machine.segment().shard(shard_).intake.Exchange(0x7FFFFFFF);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kQueued);
}

TEST_F(Intake, ThatLosesAnOperationIsMadeUpForByAVisit) {
  const OperationCell& lost = PutInRequest(a);
  machine.segment().shard(shard_).intake.Exchange(segment::kNoCell);
  LeaveShard();
  Enter(c);
  ASSERT_TRUE(IsPending(lost));
  const core::LockManager::OperationRef ref{last_place_.id, lost.number.Get()};
  ASSERT_TRUE(a.manager().Visit(shard_, {ref}, kShardTimeoutNs).ok());
  EXPECT_EQ(OutcomeOf(lost), RequestOutcome::kGranted);
}

// A cell may be reused for another shard between two reads of a thread that checks its number.
TEST_F(Intake, NumbersNoTwoOperationsOfTwoShardsAlike) {
  OperationCell& here = PutInRequest(a);
  OperationCell& there = New(b, OperationKind::kRequest, ++last_id);
  there.shard.Set(1 - shard_);
  segment::PushOperation(machine.segment(), last_place_.id, there);
  EXPECT_NE(here.number.Get(), there.number.Get());
}

// Between the look of a repair and the execution the cell may have been given to another process,
// whose operation has a later place.
TEST_F(Intake, WhatARepairHasFoundIsExecutedIfItIsTheSameOperationStill) {
  OperationCell& operation = PutInRequest(a);
  const segment::ShardView view(machine.segment(), shard_);
  const std::vector<segment::OperationRef> found = segment::FindOperations(view);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), &operation);

  operation.number.Set(found[0].number + 1);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), nullptr);
  operation.number.Set(found[0].number);
  operation.shard.Set(1 - shard_);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), nullptr);
  operation.shard.Set(shard_);
  operation.state.Set(OperationState::kDone);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), nullptr);
  operation.state.Set(OperationState::kPending);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), &operation);
}

TEST_F(Intake, WhatAnEndedAgentHasLeftPendingIsNotExecuted) {
  PutInRequest(a);
  const segment::ShardView view(machine.segment(), shard_);
  const std::vector<segment::OperationRef> found = segment::FindOperations(view);
  ASSERT_EQ(found.size(), 1U);
  machine.segment().agent(a.ref().index).owner.Set(0);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), nullptr);
}

TEST_F(Intake, WithoutRoomInTheShardMakesRoomOrSaysSo) {
  const OperationCell& first = PutInRequest(a);
  core::ExtentGrowth growth(machine.segment(), machine.host(), q);
  const uint32_t cells = machine.segment().geometry().cells_per_extent;
  ASSERT_TRUE(growth.Claim(FreeExtents() * cells).ok());
  LeaveShard();
  Enter(c);
  EXPECT_EQ(core::ReplyOf(first).status().code(), StatusCode::kSegmentFull);
}

TEST_F(Intake, DoesNotReadATextAsAnOperation) {
  const Result<core::OperationPlace> place =
      core::OperationPool(machine.segment(), machine.host(), p).Take(1);
  ASSERT_TRUE(place.ok());
  EXPECT_NE(segment::OperationAt(machine.segment(), place->id), nullptr);
  EXPECT_EQ(segment::OperationAt(machine.segment(), place->text), nullptr);
}

TEST_F(Intake, WithoutRoomInTheFileSystemSaysWhy) {
  const OperationCell& first = PutInRequest(a);
  machine.host().AllowAllocations(0);
  LeaveShard();
  Enter(c);
  const Status status = core::ReplyOf(first).status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_EQ(status.os_error(), ENOSPC);
}

}  // namespace
}  // namespace holdfast::test
