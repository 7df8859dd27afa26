// The publication list of a shard, with an owner that stays inside: a request published meanwhile
// has its position.
#include "segment/publication_list.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <list>

#include "core/combiner.h"
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

constexpr std::u16string_view kWanted = u"x";

class PublicationList : public LockTableTest {
 protected:
  // Process r is inside the shard, and stays there.
  void SetUp() override { ASSERT_TRUE(IsAcquired(word_, r)); }
  // Without a check of the publication list, as after a death.
  void LeaveShard() { word_.Release(r, machine.host()); }

  OperationCell& New(FakeAgent& agent, OperationKind kind, uint32_t id) {
    pools_.emplace_back(machine.segment(), machine.host(), agent.ref().process);
    const Result<core::OperationBuffer> buffer = pools_.back().Allocate(1);
    EXPECT_TRUE(buffer.ok());
    last_buffer_ = *buffer;
    OperationCell& cell = *segment::OperationAt(machine.segment(), buffer->id);
    cell.shard.Set(shard_);
    cell.kind.Set(kind);
    cell.process_slot.Set(agent.ref().process.slot);
    cell.process_generation.Set(agent.ref().process.generation);
    cell.agent.Set(agent.ref().index);
    cell.agent_generation.Set(agent.ref().generation);
    cell.request_id.Set(id);
    return cell;
  }
  OperationCell& PublishRequest(FakeAgent& agent, const Options& options = kExclusive,
                                uint32_t id = 0) {
    OperationCell& cell = New(agent, OperationKind::kRequest, id == 0 ? ++last_id : id);
    cell.steals.Set(options.steal ? 1 : 0);
    cell.argument.Set(options.max_pending);
    cell.mode.Set(static_cast<uint8_t>(options.mode));
    segment::WriteTexts(machine.segment(), cell, last_buffer_.text, {kWanted, u"", u""});
    agent.lock_table().Publish(last_buffer_.id, cell);
    return cell;
  }
  OperationCell& PublishEnd(FakeAgent& agent, const core::RecordRef& record) {
    OperationCell& cell = New(agent, OperationKind::kEnd, last_id);
    cell.cell.Set(record.cell);
    cell.ticket.Set(record.ticket);
    agent.lock_table().Publish(last_buffer_.id, cell);
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
    core::LockTable lock_table = agent.lock_table();
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    ASSERT_TRUE(lock_table.Enter(shard_, wake_queue, kShardTimeoutNs).ok());
  }
  bool WasAnswered(FakeAgent& agent) {
    return machine.segment().agent(agent.ref().index).answered.Get() != 0;
  }

  const uint32_t shard_ = NameOf(kWanted).ShardIn(machine.segment());
  segment::LockWord word_{machine.segment(), shard_};
  std::list<core::OperationPool> pools_;
  core::OperationBuffer last_buffer_;
};

TEST_F(PublicationList, QueuesARequestBeforeThoseThatComeLater) {
  const OperationCell& first = PublishRequest(a);
  EXPECT_TRUE(IsPending(first));
  LeaveShard();
  EXPECT_EQ(Outcome(b, kWanted), RequestOutcome::kQueued);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_TRUE(WasAnswered(a));
}

TEST_F(PublicationList, IsNotOvertakenByTheAgentThatKeepsTheName) {
  LeaveShard();
  const uint32_t id = IdOf(a, kWanted);
  ASSERT_TRUE(a.EndOrBias(id));
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& first = PublishRequest(b);
  EXPECT_TRUE(IsPending(first));
  EXPECT_FALSE(a.AcquireBiased(id));
  LeaveShard();
  a.FreeBiased(id);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
}

TEST_F(PublicationList, MakesAHoldOfTheShortWayAnOrdinaryOne) {
  LeaveShard();
  const uint32_t id = IdOf(a, kWanted);
  ASSERT_TRUE(a.EndOrBias(id));
  ASSERT_TRUE(a.AcquireBiased(id));
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& first = PublishRequest(b);
  LeaveShard();
  EXPECT_FALSE(a.ReleaseBiased(id));
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kQueued);
  EXPECT_TRUE(IsHeld(last_id));
}

TEST_F(PublicationList, IsExecutedInTheOrderInWhichItCame) {
  const OperationCell& first = PublishRequest(a);
  const OperationCell& second = PublishRequest(b);
  const OperationCell& third = PublishRequest(a2, kShared);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kQueued);
  EXPECT_EQ(OutcomeOf(third), RequestOutcome::kQueued);
}

TEST_F(PublicationList, IsExecutedByTheCombinerThatUnlocks) {
  LeaveShard();
  core::LockTable owner = c.lock_table();
  const OperationCell* cell = nullptr;
  {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    const auto lock = owner.Enter(shard_, wake_queue, kShardTimeoutNs);
    ASSERT_TRUE(lock.ok());
    cell = &PublishRequest(a);
    EXPECT_TRUE(IsPending(*cell));
  }
  EXPECT_EQ(OutcomeOf(*cell), RequestOutcome::kGranted);
}

TEST_F(PublicationList, IsExecutedByItsAgentWhenTheShardIsFree) {
  LeaveShard();
  EXPECT_EQ(OutcomeOf(PublishRequest(a)), RequestOutcome::kGranted);
}

TEST_F(PublicationList, MakesAReleaseTakeEffectBeforeWhatComesLater) {
  LeaveShard();
  const core::RecordRef held = Request(a, kWanted).record;
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& end = PublishEnd(a, held);
  LeaveShard();
  EXPECT_EQ(Outcome(b, kWanted, kIfAvailable), RequestOutcome::kGranted);
  EXPECT_EQ(end.ended.Get(), CellState::kHeld);
}

TEST_F(PublicationList, ReportsToAReleaseThatTheLockWasStolenBefore) {
  LeaveShard();
  const core::RecordRef held = Request(a, kWanted).record;
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& stealer = PublishRequest(b, kSteal);
  const OperationCell& end = PublishEnd(a, held);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(stealer), RequestOutcome::kGranted);
  EXPECT_EQ(end.ended.Get(), CellState::kStolen);
}

TEST_F(PublicationList, RefusesARequestThatIsNotToWaitAtItsPosition) {
  const OperationCell& first = PublishRequest(a);
  const OperationCell& second = PublishRequest(b, kIfAvailable);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kMissed);
}

TEST_F(PublicationList, IsFoundByARepairWithoutItsLinks) {
  const OperationCell& first = PublishRequest(b);
  const OperationCell& second = PublishRequest(a);
  // Its owner took the stack, and died.
  machine.segment().shard(shard_).publications.Exchange(segment::kNoCell);
  machine.Kill(r);
  Enter(a2);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kQueued);
  EXPECT_EQ(first.state.Get(), OperationState::kExecuted);
}

TEST_F(PublicationList, IsNotExecutedTwiceWhenTheOwnerDiesBeforeItMarksIt) {
  LeaveShard();
  const core::RequestReply queued = Request(a, kWanted);
  ASSERT_TRUE(IsAcquired(word_, r));
  const OperationCell& again = PublishRequest(a, kExclusive, last_id);
  machine.segment().shard(shard_).publications.Exchange(segment::kNoCell);
  machine.Kill(r);
  Enter(b);
  EXPECT_EQ(OutcomeOf(again), RequestOutcome::kGranted);
  EXPECT_EQ(core::ReplyOf(again)->record.ticket, queued.record.ticket);
  EXPECT_EQ(UsedCells(), 2U);
}

TEST_F(PublicationList, ReportsTheStateThatAnEndFoundAlsoWhenTheOwnerDiesBeforeItMarksIt) {
  LeaveShard();
  const core::RecordRef held = Request(a, kWanted).record;
  ASSERT_TRUE(IsAcquired(word_, r));
  OperationCell& end = PublishEnd(a, held);
  machine.segment().shard(shard_).publications.Exchange(segment::kNoCell);
  LeaveShard();
  ASSERT_TRUE(a.lock_table().End(held, kShardTimeoutNs).ok());
  end.ended.Set(CellState::kHeld);
  ASSERT_TRUE(IsAcquired(word_, r));
  machine.Kill(r);
  Enter(b);
  EXPECT_EQ(end.state.Get(), OperationState::kExecuted);
  EXPECT_EQ(end.ended.Get(), CellState::kHeld);
}

TEST_F(PublicationList, OfADeadAgentIsEndedWithIt) {
  PublishRequest(a);
  LeaveShard();
  machine.Kill(p);
  ASSERT_TRUE(b.lock_table().Reap(p, kShardTimeoutNs).ok());
  EXPECT_EQ(UsedCells(), 0U);
  EXPECT_EQ(Outcome(b, kWanted), RequestOutcome::kGranted);
}

// Corruption may lose the links to its operations until a repair.
TEST_F(PublicationList, OfAnAgentIsEndedWithItThoughTheShardIsCorrupted) {
  const OperationCell& lost = PublishRequest(a);
  machine.segment().shard(shard_).publications.Exchange(segment::kNoCell);
  machine.segment().shard(shard_).dirty.Set(1);
  LeaveShard();
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_FALSE(IsPending(lost));
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(PublicationList, OfAnAgentIsEndedWithItThoughARepairFindsCorruptionAgain) {
  PublishRequest(b);
  const OperationCell& second = PublishRequest(a);
  segment::ShardHeader& shard = machine.segment().shard(shard_);
  shard.publications.Exchange(segment::kNoCell);
  shard.dirty.Set(1);
  LeaveShard();
  segment::store_observer = {[](void* self) {
                               auto& at = *static_cast<segment::ShardHeader*>(self);
                               if (at.used_count.Get() == 0) return;
                               segment::store_observer = {};
                               at.dirty.Set(1);  // while the first one is executed
                             },
                             &shard};
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_FALSE(IsPending(second));
  EXPECT_EQ(UsedCells(), 2U);  // the lock of b and its name
}

// The finder may have passed this shard already: the record would have no owner.
TEST_F(PublicationList, IsNotExecutedForAProcessThatDiedBeforeItWasLinked) {
  const OperationCell& unlinked = PublishRequest(a);
  machine.segment().shard(shard_).publications.Exchange(segment::kNoCell);
  machine.Kill(p);
  machine.Kill(r);
  Enter(b);
  EXPECT_EQ(unlinked.state.Get(), OperationState::kExecuted);
  EXPECT_EQ(UsedCells(), 0U);
  EXPECT_EQ(Outcome(b, kWanted), RequestOutcome::kGranted);
}

TEST_F(PublicationList, KeepsAProcessFromBeingReapedUntilItIsExecuted) {
  PublishRequest(a);
  machine.Kill(p);
  EXPECT_EQ(b.lock_table().Reap(p, 0).code(), StatusCode::kBusy);
  LeaveShard();
  EXPECT_TRUE(b.lock_table().Reap(p, 0).ok());
}

TEST_F(PublicationList, LeavesTheExtentsOfADeadProcessAloneUntilItIsReaped) {
  PublishRequest(a);
  machine.Kill(p);
  core::ExtentGrowth growth(machine.segment(), machine.host(), q);
  const uint32_t extents = machine.segment().geometry().extents;
  const uint32_t cells = machine.segment().geometry().cells_per_extent;
  EXPECT_FALSE(growth.Claim(extents * cells).ok());
  LeaveShard();
  ASSERT_TRUE(b.lock_table().Reap(p, kShardTimeoutNs).ok());
  // One is the shard's now, where the request was executed.
  EXPECT_TRUE(growth.Claim((extents - 1) * cells).ok());
}

TEST_F(PublicationList, BelongsToASnapshot) {
  PublishRequest(a);
  LeaveShard();
  core::LockTable lock_table = b.lock_table();
  const Result<core::Snapshot> snapshot = core::TakeSnapshot(lock_table, kShardTimeoutNs);
  ASSERT_TRUE(snapshot.ok());
  ASSERT_EQ(snapshot->held.size(), 1U);
}

TEST_F(PublicationList, ThatIsCorruptedIsRepaired) {
  const OperationCell& first = PublishRequest(a);
  const OperationCell& second = PublishRequest(b);
  machine.segment().shard(shard_).publications.Exchange(0x7FFFFFFF);
  LeaveShard();
  Enter(c);
  EXPECT_EQ(OutcomeOf(first), RequestOutcome::kGranted);
  EXPECT_EQ(OutcomeOf(second), RequestOutcome::kQueued);
}

TEST_F(PublicationList, ThatLosesAnOperationIsMadeUpForByADeferredEntry) {
  const OperationCell& lost = PublishRequest(a);
  machine.segment().shard(shard_).publications.Exchange(segment::kNoCell);
  LeaveShard();
  Enter(c);
  ASSERT_TRUE(IsPending(lost));
  const core::LockTable::OperationRef ref{last_buffer_.id, lost.number.Get()};
  ASSERT_TRUE(a.lock_table().ExecutePublished(shard_, {ref}, kShardTimeoutNs).ok());
  EXPECT_EQ(OutcomeOf(lost), RequestOutcome::kGranted);
}

// A cell may be reused for another shard between two reads of a thread that checks its number.
TEST_F(PublicationList, NumbersNoTwoOperationsOfTwoShardsAlike) {
  OperationCell& here = PublishRequest(a);
  OperationCell& there = New(b, OperationKind::kRequest, ++last_id);
  there.shard.Set(1 - shard_);
  segment::PushOperation(machine.segment(), last_buffer_.id, there);
  EXPECT_NE(here.number.Get(), there.number.Get());
}

// Between the check by a repair and the execution the cell may have been given to another process,
// whose operation has a later position.
TEST_F(PublicationList, WhatARepairHasFoundIsExecutedIfItIsTheSameOperationStill) {
  OperationCell& operation = PublishRequest(a);
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

TEST_F(PublicationList, WhatAnEndedAgentHasLeftPendingIsNotExecuted) {
  PublishRequest(a);
  const segment::ShardView view(machine.segment(), shard_);
  const std::vector<segment::OperationRef> found = segment::FindOperations(view);
  ASSERT_EQ(found.size(), 1U);
  machine.segment().agent(a.ref().index).owner.Set(0);
  EXPECT_EQ(segment::PendingOperation(view, found[0]), nullptr);
}

TEST_F(PublicationList, WithoutRoomInTheShardMakesRoomOrSaysSo) {
  const OperationCell& first = PublishRequest(a);
  core::ExtentGrowth growth(machine.segment(), machine.host(), q);
  const uint32_t cells = machine.segment().geometry().cells_per_extent;
  ASSERT_TRUE(growth.Claim(FreeExtents() * cells).ok());
  LeaveShard();
  Enter(c);
  EXPECT_EQ(core::ReplyOf(first).status().code(), StatusCode::kSegmentFull);
}

TEST_F(PublicationList, DoesNotReadATextAsAnOperation) {
  const Result<core::OperationBuffer> buffer =
      core::OperationPool(machine.segment(), machine.host(), p).Allocate(1);
  ASSERT_TRUE(buffer.ok());
  EXPECT_NE(segment::OperationAt(machine.segment(), buffer->id), nullptr);
  EXPECT_EQ(segment::OperationAt(machine.segment(), buffer->text), nullptr);
}

TEST_F(PublicationList, WithoutRoomInTheFileSystemSaysWhy) {
  const OperationCell& first = PublishRequest(a);
  machine.host().AllowAllocations(0);
  LeaveShard();
  Enter(c);
  const Status status = core::ReplyOf(first).status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_EQ(status.os_error(), ENOSPC);
}

}  // namespace
}  // namespace holdfast::test
