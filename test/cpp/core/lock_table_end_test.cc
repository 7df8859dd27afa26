// Standard: Web Locks "abort the request" (#algorithm-abort-request), "release the lock"
// (#algorithm-release-lock), "process the lock request queue".
#include "core/lock_table.h"
#include "support/lock_table_test.h"
#include "support/table_image.h"

namespace holdfast::test {
namespace {

class LockTableEnd : public LockTableTest {};

TEST_F(LockTableEnd, GrantsTheNextInLineAfterARelease) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2));
  EXPECT_TRUE(IsQueued(3));
}

TEST_F(LockTableEnd, GrantsAllSharedRequestsAtTheHeadTogether) {
  Request(a, u"n");
  Request(b, u"n", kShared);
  Request(c, u"n", kShared);
  Request(a2, u"n");
  Request(b, u"n", kShared);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2) && IsHeld(3));
  EXPECT_TRUE(IsQueued(4) && IsQueued(5));
}

TEST_F(LockTableEnd, KeepsTheQueueWaitingWhileOneSharedHolderIsLeft) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  Request(c, u"n");
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsQueued(3));
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(LockTableEnd, GrantsWhatStoodBehindAnAbortedHead) {
  Request(a, u"n", kShared);
  Request(b, u"n");
  Request(c, u"n", kShared);
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(LockTableEnd, ClosesTheGapOfAnAbortInTheMiddle) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  Request(a2, u"n");
  ASSERT_TRUE(c.End(3).ok());
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2));
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_TRUE(IsHeld(4));
}

TEST_F(LockTableEnd, AppendsBehindAnAbortedTail) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  ASSERT_TRUE(c.End(3).ok());
  Request(a2, u"n");
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_TRUE(IsHeld(4));
}

TEST_F(LockTableEnd, FreesEveryCell) {
  Request(a, u"n");
  Request(b, std::u16string(300, u'x'));
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(LockTableEnd, LeavesAGrantThatIsStillUnreadToItsAgent) {
  Request(a, u"n");
  Request(b, u"n");
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 1U);  // the zombie among the events of b
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(LockTableEnd, HasNoEffectTheSecondTime) {
  const core::RecordRef record = Request(a, u"n").record;
  Request(b, u"n");
  Request(c, u"n");
  ASSERT_TRUE(a.End(1).ok());
  const Result<segment::CellState> again = a.lock_table().End(record, kShardTimeoutNs);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, segment::CellState::kFree);
  EXPECT_TRUE(IsHeld(2) && IsQueued(3));
}

TEST_F(LockTableEnd, LeavesTheRecordAloneThatUsesTheCellNow) {
  const core::RecordRef old = Request(a, u"n").record;
  ASSERT_TRUE(a.End(1).ok());
  const core::RecordRef record = Request(b, u"n").record;
  ASSERT_EQ(record.cell, old.cell);
  ASSERT_TRUE(a.lock_table().End(old, kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(LockTableEnd, TouchesNothingForARecordOfNoShard) {
  const core::RecordRef nowhere{1, machine.segment().geometry().shards, 1};
  const FakeMachine::Image before = TakeTableImage(machine);
  EXPECT_EQ(a.lock_table().End(nowhere, kShardTimeoutNs).status().code(),
            StatusCode::kSegmentBroken);
  EXPECT_TRUE(TakeTableImage(machine) == before);
}

TEST_F(LockTableEnd, IsBusyWhileALivingProcessKeepsTheShardLocked) {
  Request(a, u"n");
  core::WakeQueue wake_queue(machine.segment(), machine.host());
  const uint32_t shard = a.mine().at(1).record.shard;
  const auto lock = b.lock_table().Enter(shard, wake_queue, kShardTimeoutNs);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(a.lock_table().End(a.mine().at(1).record, kShardTimeoutNs).status().code(),
            StatusCode::kBusy);
  EXPECT_TRUE(IsHeld(1));
}

}  // namespace
}  // namespace holdfast::test
