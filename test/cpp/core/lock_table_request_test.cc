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

TEST_F(LockTableRequest, GivesAValidTokenThoughTheNewestIsCorrupted) {
  for (const uint64_t corrupted :
       {uint64_t{0}, segment::kTokenLimit - 1, segment::kTokenLimit, ~uint64_t{0}}) {
    machine.segment().header().last_token.Set(corrupted);
    const uint64_t token = Request(a, u"n").token;
    EXPECT_GT(token, segment::kFirstToken);
    EXPECT_LT(token, segment::kTokenLimit);
    ASSERT_TRUE(a.End(last_id).ok());
  }
}

TEST_F(LockTableRequest, QueuesBehindAnExclusiveHolder) {
  Request(a, u"n");
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, QueuesBehindItsOwnAgent) {
  Request(a, u"n");
  EXPECT_EQ(Outcome(a, u"n"), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, GrantsSharedHoldersTogether) {
  EXPECT_EQ(Outcome(a, u"n", kShared), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kGranted);
}

TEST_F(LockTableRequest, QueuesAnExclusiveRequestBehindSharedHolders) {
  Request(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n"), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, NeverLetsASharedRequestOvertakeAQueuedExclusiveOne) {
  Request(a, u"n", kShared);
  Request(b, u"n");
  EXPECT_EQ(Outcome(c, u"n", kShared), RequestOutcome::kQueued);
}

TEST_F(LockTableRequest, KeepsNamesApart) {
  Request(a, u"n");
  EXPECT_EQ(Outcome(b, u"m"), RequestOutcome::kGranted);
}

TEST_F(LockTableRequest, NumbersTokensInTheOrderOfTheGrants) {
  const uint64_t first = Request(a, u"n").token;
  const uint64_t second = Request(b, u"m").token;
  Request(b, u"n");
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_EQ(first, kFirstToken + 1);
  EXPECT_EQ(second, kFirstToken + 2);
  EXPECT_EQ(b.mine().at(3).token, kFirstToken + 3);
}

TEST_F(LockTableRequest, NumbersTicketsInTheOrderOfTheRequests) {
  const uint64_t first = Request(a, u"n").record.ticket;
  const uint64_t second = Request(b, u"n").record.ticket;
  EXPECT_LT(first, second);
}

TEST_F(LockTableRequest, NeverUsesATicketAgain) {
  const uint64_t first = Request(a, u"n").record.ticket;
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_GT(Request(a, u"n").record.ticket, first);
}

class LockTableIfAvailable : public LockTableTest {};

TEST_F(LockTableIfAvailable, GrantsAFreeName) {
  EXPECT_EQ(Outcome(a, u"n", kIfAvailable), RequestOutcome::kGranted);
}

TEST_F(LockTableIfAvailable, GrantsASharedLockBesideSharedHolders) {
  Request(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n", kSharedIfAvailable), RequestOutcome::kGranted);
}

TEST_F(LockTableIfAvailable, MissesBesideAnIncompatibleHolder) {
  Request(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kMissed);
}

TEST_F(LockTableIfAvailable, MissesWhenAnythingIsQueued) {
  Request(a, u"n", kShared);
  Request(b, u"n");
  EXPECT_EQ(Outcome(c, u"n", kSharedIfAvailable), RequestOutcome::kMissed);
}

TEST_F(LockTableIfAvailable, LeavesNoTraceWhenItMissed) {
  Request(a, u"n");
  const FakeMachine::Image before = TakeTableImage(machine);
  Request(b, u"n", kIfAvailable);
  EXPECT_TRUE(TakeTableImage(machine) == before);
}

TEST_F(LockTableIfAvailable, NamesTheHolderThatIsInTheWay) {
  Request(a, u"n");
  EXPECT_EQ(Request(b, u"n", kIfAvailable).blocker.process, p);
}

TEST_F(LockTableIfAvailable, NamesTheQueuedRequestWhenTheHoldersAreNotInTheWay) {
  Request(a, u"n", kShared);
  Request(b, u"n");
  EXPECT_EQ(Request(c, u"n", kSharedIfAvailable).blocker.process, q);
}

// A request that may wait only behind fewer than `max_pending` others.
class LockTableMaxPending : public LockTableTest {
 protected:
  static constexpr Options Few(uint32_t max_pending) { return {.max_pending = max_pending}; }
};

TEST_F(LockTableMaxPending, GrantsAFreeNameAtOnce) {
  EXPECT_EQ(Outcome(a, u"n", Few(1)), RequestOutcome::kGranted);
}

TEST_F(LockTableMaxPending, QueuesAsManyAsAllowed) {
  Request(a, u"n");
  EXPECT_EQ(Outcome(b, u"n", Few(2)), RequestOutcome::kQueued);
  EXPECT_EQ(Outcome(c, u"n", Few(2)), RequestOutcome::kQueued);
  EXPECT_EQ(Outcome(b, u"n", Few(2)), RequestOutcome::kMissed);
}

TEST_F(LockTableMaxPending, CountsRequestsWithoutTheOption) {
  Request(a, u"n");
  Request(b, u"n", kShared);
  EXPECT_EQ(Outcome(c, u"n", Few(1)), RequestOutcome::kMissed);
}

TEST_F(LockTableMaxPending, CountsNoHolders) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  EXPECT_EQ(Outcome(c, u"n", Few(1)), RequestOutcome::kQueued);
}

TEST_F(LockTableMaxPending, QueuesAgainOnceARequestHasLeft) {
  Request(a, u"n");
  Request(b, u"n", Few(1));
  ASSERT_TRUE(b.End(last_id).ok());
  EXPECT_EQ(Outcome(c, u"n", Few(1)), RequestOutcome::kQueued);
}

TEST_F(LockTableMaxPending, LeavesNoTraceWhenItMissed) {
  Request(a, u"n");
  Request(b, u"n");
  const FakeMachine::Image before = TakeTableImage(machine);
  Request(c, u"n", Few(1));
  EXPECT_TRUE(TakeTableImage(machine) == before);
}

// The caller watches it. Every other waiter is watched by the one behind it.
TEST_F(LockTableMaxPending, NamesTheLastProcessThatWaits) {
  Request(a, u"n");
  Request(a, u"n");
  Request(b, u"n");
  EXPECT_EQ(Request(c, u"n", Few(1)).blocker.process, q);
}

class LockTableSteal : public LockTableTest {};

TEST_F(LockTableSteal, GrantsAFreeName) {
  EXPECT_EQ(Outcome(a, u"n", kSteal), RequestOutcome::kGranted);
}

TEST_F(LockTableSteal, TakesTheLockFromEveryHolder) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  EXPECT_EQ(Outcome(c, u"n", kSteal), RequestOutcome::kGranted);
  ASSERT_TRUE(a.TakeEvents().ok());
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
  EXPECT_FALSE(b.Holds(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(LockTableSteal, GoesBeforeEverythingQueuedAndLeavesItQueued) {
  Request(a, u"n");
  Request(b, u"n");
  EXPECT_EQ(Outcome(c, u"n", kSteal), RequestOutcome::kGranted);
  EXPECT_TRUE(IsQueued(2));
}

TEST_F(LockTableSteal, GrantsTheQueueAfterTheStealer) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n", kSteal);
  ASSERT_TRUE(c.End(3).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(LockTableSteal, LetsTheLateReleaseOfAVictimReleaseNothing) {
  Request(a, u"n");
  Request(b, u"n", kSteal);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(LockTableSteal, SaysThatAVictimHadLostTheLockWhenItEndsIt) {
  const core::RecordRef record = Request(a, u"n").record;
  Request(b, u"n", kSteal);
  const Result<segment::CellState> ended = a.lock_table().End(record, kShardTimeoutNs);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(*ended, segment::CellState::kStolen);
}

TEST_F(LockTableSteal, CanBeStolenFromInTurn) {
  Request(a, u"n");
  Request(b, u"n", kSteal);
  Request(c, u"n", kSteal);
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_FALSE(b.Holds(2));
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(LockTableSteal, StealsFromItsOwnAgent) {
  Request(a, u"n");
  Request(a, u"n", kSteal);
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
  EXPECT_TRUE(a.Holds(2));
}

}  // namespace
}  // namespace holdfast::test
