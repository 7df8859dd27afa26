#include "segment/repair.h"

#include "support/lock_table_test.h"
#include "support/store_recorder.h"

namespace holdfast::test {
namespace {

using segment::CellId;
using segment::CellState;
using segment::NameCell;
using segment::RequestCell;
using segment::Shared;

class Repair : public LockTableTest {
 protected:
  // As the next to enter does it.
  void RepairAll() {
    for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
      machine.segment().shard(shard).dirty.Set(1);
      core::WakeQueue wake_queue(machine.segment(), machine.host());
      ASSERT_TRUE(c.lock_table().Enter(shard, wake_queue, kShardTimeoutNs).ok());
      ASSERT_EQ(machine.segment().shard(shard).dirty.Get(), 0U);
    }
  }
  RequestCell& CellOf(const core::RequestReply& reply) {
    return segment::AsRequest(*machine.segment().CellByNumber(reply.record.cell - 1));
  }
  NameCell& NameCellOf(const core::RequestReply& reply) {
    return segment::AsName(*machine.segment().CellByNumber(CellOf(reply).name.Get() - 1));
  }
};

TEST_F(Repair, KeepsValidRecords) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  Request(c, u"n");
  Request(a2, std::u16string(200, u'l'));
  Request(b, u"m", kSteal);
  const ReferenceModel before = Records();
  RepairAll();
  EXPECT_EQ(Records(), before);
}

// The list is read without the shard lock: a reader that finds nothing takes it for empty.
TEST_F(Repair, NeverShowsAnEmptyListOfAnAgentThatHasRequests) {
  const uint32_t shard = Request(a, u"n").record.shard;
  Request(b, u"n");
  const std::vector<Frame> frames = FramesOf(machine, [&] { RepairAll(); });
  for (const Frame& frame : frames) {
    machine.Restore(frame.image);
    EXPECT_NE(machine.segment().agent_list(a.ref().index, shard).Get(), segment::kNoCell);
    EXPECT_NE(machine.segment().agent_list(b.ref().index, shard).Get(), segment::kNoCell);
  }
}

TEST_F(Repair, DropsWhatTheDeadHeldAndGrantsTheNext) {
  Request(a, u"n");
  Request(b, u"n");
  machine.Kill(p);
  RepairAll();
  EXPECT_FALSE(IsHeld(1));
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(Repair, DropsTheRequestsOfAnAgentThatHasEnded) {
  Request(a, u"n");
  machine.segment().agent(a.ref().index).owner.Set(0);
  RepairAll();
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(Repair, FinishesAStealForALivingStealer) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  CellOf(Request(c, u"n", kShared)).state.Set(CellState::kStealing);
  RepairAll();
  EXPECT_FALSE(IsHeld(1) || IsHeld(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(Repair, FinishesTheStealOfADeadStealerAndGrantsTheNext) {
  Request(a, u"n", kShared);
  CellOf(Request(b, u"n", kShared)).state.Set(CellState::kStealing);
  Request(c, u"n");
  machine.Kill(q);
  RepairAll();
  EXPECT_FALSE(IsHeld(1));
  EXPECT_TRUE(IsHeld(3));
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
}

TEST_F(Repair, LeavesTheLockToTheOlderOfTwoExclusiveHolders) {
  Request(a, u"n");
  const core::RequestReply corrupted = Request(b, u"n");
  CellOf(corrupted).state.Set(CellState::kHeld);
  CellOf(corrupted).token.Set(kFirstToken + 2);
  machine.segment().header().last_token.Set(kFirstToken + 2);
  RepairAll();
  EXPECT_TRUE(IsHeld(1));
  EXPECT_FALSE(IsHeld(2));
}

TEST_F(Repair, RaisesCountersThatFellBehindTheRecords) {
  const core::RequestReply held = Request(a, u"n");
  machine.segment().shard(held.record.shard).last_ticket.Set(0);
  machine.segment().header().last_token.Set(0);
  RepairAll();
  EXPECT_EQ(machine.segment().shard(held.record.shard).last_ticket.Get(), held.record.ticket);
  EXPECT_EQ(machine.segment().header().last_token.Get(), held.token);
}

TEST_F(Repair, GoesOnCountingWhenACounterWasAtItsEnd) {
  const core::RequestReply held = Request(a, u"n");
  machine.segment().shard(held.record.shard).last_ticket.Set(~uint64_t{0});
  RepairAll();
  EXPECT_GT(Request(b, u"n").record.ticket, held.record.ticket);
}

// One corrupted word of a record: its agent's entry still says whose it is.
TEST_F(Repair, KeepsALockWhoseRecordNamesAnotherLifeOfItsProcess) {
  for (const uint32_t bit : {1U, 1U << 30}) {
    const core::RequestReply held = Request(a, u"n");
    Shared<uint32_t>& generation = CellOf(held).process_generation;
    generation.Set(generation.Get() ^ bit);
    RepairAll();
    EXPECT_TRUE(IsHeld(last_id));
    EXPECT_EQ(generation.Get(), p.generation);
    ASSERT_TRUE(a.End(last_id).ok());
  }
}

TEST_F(Repair, TakesATokenThatCannotBeForCorruption) {
  for (const uint64_t corrupted : {~uint64_t{0}, uint64_t{1} << 62, uint64_t{0}}) {
    const core::RequestReply held = Request(a, u"n");
    machine.segment().header().last_token.Set(corrupted);
    RepairAll();
    EXPECT_TRUE(IsHeld(last_id));
    EXPECT_EQ(machine.segment().header().last_token.Get(), held.token);
    ASSERT_TRUE(a.End(last_id).ok());
  }
}

// A counter raised to it would count as corrupted, and fall below the tokens of all others.
TEST_F(Repair, DropsARecordWhoseTokenCannotBe) {
  const core::RequestReply valid = Request(a, u"n");
  CellOf(Request(b, u"m")).token.Set(segment::kTokenLimit);
  RepairAll();
  RepairAll();
  EXPECT_TRUE(IsHeld(1));
  EXPECT_FALSE(IsHeld(2));
  EXPECT_EQ(machine.segment().header().last_token.Get(), valid.token + 1);
}

TEST_F(Repair, DropsTheSecondOfTwoRequestsWithOneTicket) {
  const core::RequestReply first = Request(a, u"n");
  CellOf(Request(b, u"n")).ticket.Set(first.record.ticket);
  RepairAll();
  EXPECT_TRUE(IsHeld(1));
  EXPECT_FALSE(IsQueued(2));
}

TEST_F(Repair, DropsARequestWhoseNameIsCorrupted) {
  NameCell& name = NameCellOf(Request(a, u"n"));
  name.units[0].Set(u'm');
  RepairAll();
  EXPECT_EQ(UsedCells(), 0U);
  ASSERT_TRUE(a.TakeEvents().ok());
}

TEST_F(Repair, MergesTwoCellsOfOneName) {
  // A name that was taken out of its bucket by corruption, and then added again.
  const core::RequestReply lost = Request(a, u"n");
  machine.segment()
      .bucket(lost.record.shard, NameOf(u"n").HashIn(machine.segment()))
      .Set(segment::kNoCell);
  Request(b, u"n");
  ASSERT_TRUE(IsHeld(1) && IsHeld(2));
  RepairAll();
  EXPECT_TRUE(IsHeld(1));
  EXPECT_FALSE(IsHeld(2));
}

TEST_F(Repair, CutsPiecesOffANameThatAreBeyondItsLength) {
  NameCell& name = NameCellOf(Request(a, u"n"));
  name.text.Set(CellOf(Request(b, u"n")).name.Get());
  RepairAll();
  EXPECT_EQ(name.text.Get(), segment::kNoCell);
}

TEST_F(Repair, DropsANameWithACycleOfPieces) {
  const core::RequestReply held = Request(a, std::u16string(200, u'l'));
  const CellId piece = NameCellOf(held).text.Get();
  segment::AsText(*machine.segment().CellByNumber(piece - 1)).following.Set(piece);
  RepairAll();
  EXPECT_FALSE(IsHeld(1));
}

TEST_F(Repair, DropsARecordInAShardThatIsNotItsOwn) {
  const core::RequestReply held = Request(a, u"n");
  const uint32_t other = 1 - held.record.shard;
  machine.segment().extent_owner(0).Set(other + 1);
  RepairAll();
  EXPECT_FALSE(IsHeld(1));
  EXPECT_EQ(Outcome(b, u"n"), core::RequestOutcome::kGranted);
}

TEST_F(Repair, KeepsHoldersThatCameAfterALimitWasMet) {
  Request(a, u"n", Limited(1));
  Request(b, u"n", kShared);
  Request(c, u"n", Limited(3));
  Request(a2, u"n", Limited(3));
  const ReferenceModel before = Records();
  RepairAll();
  EXPECT_EQ(Records(), before);
}

// A stealer holds with the newest ticket and is joined by older ones: what counts is who was
// granted first.
TEST_F(Repair, JudgesLimitsByTheOrderOfTheGrants) {
  Request(a, u"n");
  Request(b, u"n", Limited(2));
  Request(c, u"n", {.mode = LockMode::kShared, .steal = true, .limit = 1});
  Request(a2, u"m");
  ASSERT_TRUE(a.TakeEvents().ok());
  ASSERT_TRUE(a2.End(4).ok());
  RepairAll();  // grants what waits beside a shared stealer
  ASSERT_TRUE(IsHeld(2) && IsHeld(3));
  RepairAll();
  EXPECT_TRUE(IsHeld(2) && IsHeld(3));
}

TEST_F(Repair, TakesTheLockFromAHolderBeyondItsLimit) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  CellOf(Request(c, u"n", kShared)).limit.Set(2);
  RepairAll();
  EXPECT_TRUE(IsHeld(1) && IsHeld(2));
  EXPECT_FALSE(IsHeld(3));
}

TEST_F(Repair, KeepsWhatWasExpiredUntilItsAgentHasReadIt) {
  Request(a, u"n", HeldFor(1));
  machine.host().PassTime(1);
  (void)a.EnforceHoldLimits(1);
  const ReferenceModel before = Records();
  ASSERT_EQ(before.lost().size(), 1U);
  RepairAll();
  EXPECT_EQ(Records(), before);
  ASSERT_TRUE(a.TakeEvents().ok());
}

TEST_F(Repair, CountsTheHoldLimitsOfANameAnew) {
  NameCell& name = NameCellOf(Request(a, u"n", HeldFor(200)));
  Request(b, u"n", HeldFor(100));
  Request(c, u"n");
  name.hold_limited.Set(7);
  name.least_hold_limit_ns.Set(300);
  RepairAll();
  EXPECT_EQ(name.hold_limited.Get(), 2U);
  EXPECT_EQ(name.least_hold_limit_ns.Get(), 100U);
}

TEST_F(Repair, DropsALabelThatIsCorruptedAndKeepsItsRequest) {
  const std::u16string label(100, u't');
  RequestCell& first = CellOf(Request(a, u"n", {.mode = LockMode::kShared, .label = label}));
  RequestCell& second = CellOf(Request(b, u"n", {.mode = LockMode::kShared, .label = label}));
  RequestCell& third = CellOf(Request(c, u"n", {.mode = LockMode::kShared, .label = label}));
  second.label.Set(first.label.Get());
  third.label_length.Set(200);
  RepairAll();
  EXPECT_NE(first.label.Get(), segment::kNoCell);
  EXPECT_EQ(second.label.Get(), segment::kNoCell);
  EXPECT_EQ(third.label.Get(), segment::kNoCell);
  EXPECT_TRUE(IsHeld(1) && IsHeld(2) && IsHeld(3));
}

TEST_F(Repair, PutsCellsBackThatAreInNoList) {
  Request(a, u"n");
  ASSERT_TRUE(a.End(1).ok());
  machine.segment().shard(0).free_head.Set(segment::kNoCell);
  machine.segment().shard(1).free_head.Set(segment::kNoCell);
  RepairAll();
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(Repair, MakesEveryAgentWithRecordsInTheShardReadThemAgain) {
  Request(a, u"n");
  RepairAll();
  EXPECT_NE(machine.segment().agent(a.ref().index).rescan.Get(), 0U);
  EXPECT_TRUE(machine.host().WasRung(a.ref()));
}

TEST_F(Repair, MakesAnAgentNoticeARecordThatIsDropped) {
  const segment::CellId id = Request(a, u"n").record.cell;
  segment::AsRequest(*machine.segment().CellByNumber(id - 1)).ticket.Set(0);
  RepairAll();
  EXPECT_NE(machine.segment().agent(a.ref().index).rescan.Get(), 0U);
}

TEST_F(Repair, LeavesOtherAgentsInPeace) {
  Request(a, u"n");
  RepairAll();
  EXPECT_EQ(machine.segment().agent(b.ref().index).rescan.Get(), 0U);
  EXPECT_FALSE(machine.host().WasRung(b.ref()));
}

}  // namespace
}  // namespace holdfast::test
