// Standard: Web Locks "request a lock" (#algorithm-request-lock), on the lock task queue.
#include "core/lock_table.h"
#include "support/lock_table_test.h"
#include "support/table_image.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;

class LockTableRequest : public LockTableTest {};

TEST_F(LockTableRequest, GrantsAFreeNameAtOnce) {
  EXPECT_EQ(Outcome(a, u"n"), RequestOutcome::kGranted);
  EXPECT_TRUE(IsHeld(1));
}

TEST_F(LockTableRequest, GivesASoundTokenThoughTheNewestIsDamaged) {
  for (const uint64_t damaged :
       {uint64_t{0}, segment::kTokenLimit - 1, segment::kTokenLimit, ~uint64_t{0}}) {
    machine.segment().header().last_token.Set(damaged);
    const uint64_t token = Ask(a, u"n").token;
    EXPECT_GT(token, segment::kFirstToken);
    EXPECT_LT(token, segment::kTokenLimit);
    ASSERT_TRUE(a.End(last_id).ok());
  }
}

TEST_F(LockTableRequest, QueuesBehindAnExclusiveHolder) {
  Ask(a, u"n");
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, QueuesBehindItsOwnAgent) {
  Ask(a, u"n");
  EXPECT_EQ(Outcome(a, u"n"), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, GrantsSharedHoldersTogether) {
  EXPECT_EQ(Outcome(a, u"n", kShared), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kGranted);
}

TEST_F(LockTableRequest, QueuesAnExclusiveRequestBehindSharedHolders) {
  Ask(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, NeverLetsASharedRequestOvertakeAQueuedExclusiveOne) {
  Ask(a, u"n", kShared);
  Ask(b, u"n");
  EXPECT_EQ(Outcome(c, u"n", kShared), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, KeepsNamesApart) {
  Ask(a, u"n");
  EXPECT_EQ(Outcome(b, u"m"), RequestOutcome::kGranted);
}

TEST_F(LockTableRequest, NumbersTokensInTheOrderOfTheGrants) {
  const uint64_t first = Ask(a, u"n").token;
  const uint64_t second = Ask(b, u"m").token;
  Ask(b, u"n");
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_EQ(first, kFirstToken + 1);
  EXPECT_EQ(second, kFirstToken + 2);
  EXPECT_EQ(b.mine().at(3).token, kFirstToken + 3);
}

TEST_F(LockTableRequest, NumbersTicketsInTheOrderOfTheRequests) {
  const uint64_t first = Ask(a, u"n").record.ticket;
  const uint64_t second = Ask(b, u"n").record.ticket;
  EXPECT_LT(first, second);
}

TEST_F(LockTableRequest, NeverUsesATicketAgain) {
  const uint64_t first = Ask(a, u"n").record.ticket;
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_GT(Ask(a, u"n").record.ticket, first);
}

class LockTableIfAvailable : public LockTableTest {};

TEST_F(LockTableIfAvailable, GrantsAFreeName) {
  EXPECT_EQ(Outcome(a, u"n", kIfAvailable), RequestOutcome::kGranted);
}

TEST_F(LockTableIfAvailable, GrantsASharedLockBesideSharedHolders) {
  Ask(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n", kSharedIfAvailable), RequestOutcome::kGranted);
}

TEST_F(LockTableIfAvailable, MissesBesideAnIncompatibleHolder) {
  Ask(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kMissed);
}

TEST_F(LockTableIfAvailable, MissesWhenAnythingIsQueued) {
  Ask(a, u"n", kShared);
  Ask(b, u"n");
  EXPECT_EQ(Outcome(c, u"n", kSharedIfAvailable), RequestOutcome::kMissed);
}

TEST_F(LockTableIfAvailable, LeavesNoTraceWhenItMissed) {
  Ask(a, u"n");
  const FakeMachine::Image before = TakeTableImage(machine);
  Ask(b, u"n", kIfAvailable);
  EXPECT_TRUE(TakeTableImage(machine) == before);
}

TEST_F(LockTableIfAvailable, NamesTheHolderThatIsInTheWay) {
  Ask(a, u"n");
  EXPECT_EQ(Ask(b, u"n", kIfAvailable).blocker.process, p);
}

TEST_F(LockTableIfAvailable, NamesTheQueuedRequestWhenTheHoldersAreNotInTheWay) {
  Ask(a, u"n", kShared);
  Ask(b, u"n");
  EXPECT_EQ(Ask(c, u"n", kSharedIfAvailable).blocker.process, q);
}

class LockTableSteal : public LockTableTest {};

TEST_F(LockTableSteal, GrantsAFreeName) {
  EXPECT_EQ(Outcome(a, u"n", kSteal), RequestOutcome::kGranted);
}

TEST_F(LockTableSteal, TakesTheLockFromEveryHolder) {
  Ask(a, u"n", kShared);
  Ask(b, u"n", kShared);
  EXPECT_EQ(Outcome(c, u"n", kSteal), RequestOutcome::kGranted);
  ASSERT_TRUE(a.TakeEvents().ok());
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
  EXPECT_FALSE(b.Holds(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(LockTableSteal, GoesBeforeEverythingQueuedAndLeavesItQueued) {
  Ask(a, u"n");
  Ask(b, u"n");
  EXPECT_EQ(Outcome(c, u"n", kSteal), RequestOutcome::kGranted);
  EXPECT_TRUE(IsQueued(2));
}

TEST_F(LockTableSteal, GrantsTheQueueAfterTheThief) {
  Ask(a, u"n");
  Ask(b, u"n");
  Ask(c, u"n", kSteal);
  ASSERT_TRUE(c.End(3).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(LockTableSteal, LetsTheLateReleaseOfAVictimReleaseNothing) {
  Ask(a, u"n");
  Ask(b, u"n", kSteal);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(LockTableSteal, SaysThatAVictimHadLostTheLockWhenItEndsIt) {
  const core::RecordRef record = Ask(a, u"n").record;
  Ask(b, u"n", kSteal);
  const Result<segment::CellState> ended = a.lock_table().End(record, kShardTimeoutNs);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, segment::CellState::kStolen);
}

TEST_F(LockTableSteal, CanBeStolenFromInTurn) {
  Ask(a, u"n");
  Ask(b, u"n", kSteal);
  Ask(c, u"n", kSteal);
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_FALSE(b.Holds(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(LockTableSteal, StealsFromItsOwnAgent) {
  Ask(a, u"n");
  Ask(a, u"n", kSteal);
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
  EXPECT_TRUE(a.Holds(2));
}

}  // namespace
}  // namespace holdfast::test
