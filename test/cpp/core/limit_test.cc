// Beyond the standard: shared requests with a limit, a counting semaphore in the strict queue.
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;

constexpr Options kTwoIfAvailable{.mode = LockMode::kShared, .max_pending = 0, .limit = 2};

class Limit : public LockTableTest {};

TEST_F(Limit, GrantsSoManyAndQueuesTheNext) {
  EXPECT_EQ(Outcome(a, u"n", Limited(2)), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(b, u"n", Limited(2)), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(c, u"n", Limited(2)), RequestOutcome::kQueued);
}

TEST_F(Limit, CountsHoldersWithoutALimit) {
  Request(a, u"n", kShared);
  EXPECT_EQ(Outcome(b, u"n", Limited(1)), RequestOutcome::kQueued);
}

TEST_F(Limit, IsThatOfTheRequestAlone) {
  Request(a, u"n", Limited(1));
  EXPECT_EQ(Outcome(b, u"n", kShared), RequestOutcome::kGranted);
  EXPECT_EQ(Outcome(c, u"n", Limited(3)), RequestOutcome::kGranted);
}

TEST_F(Limit, StaysBehindAnExclusiveHolder) {
  Request(a, u"n");
  EXPECT_EQ(Outcome(b, u"n", Limited(5)), RequestOutcome::kQueued);
}

TEST_F(Limit, KeepsWaitingThoseBehindARequestThatIsFull) {
  Request(a, u"n", Limited(1));
  Request(b, u"n", Limited(1));
  EXPECT_EQ(Outcome(c, u"n", kShared), RequestOutcome::kQueued);
}

TEST_F(Limit, MissesWhereItIsReached) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  EXPECT_EQ(Outcome(c, u"n", kTwoIfAvailable), RequestOutcome::kMissed);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_EQ(Outcome(c, u"n", kTwoIfAvailable), RequestOutcome::kGranted);
}

// Any of them may be dead.
TEST_F(Limit, ThatIsMissedIsInTheHandOfAllHolders) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  EXPECT_TRUE(Request(c, u"n", kTwoIfAvailable).blocker.several);
}

TEST_F(Limit, LeavesRoomForAsManyAsFitAfterARelease) {
  Request(a, u"n");
  for (FakeAgent* const agent : {&b, &c, &a2}) Request(*agent, u"n", Limited(2));
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2) && IsHeld(3));
  EXPECT_TRUE(IsQueued(4));
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_TRUE(IsHeld(4));
}

TEST_F(Limit, OfTheHeadThatIsAbortedMakesRoomForThoseBehindIt) {
  Request(a, u"n", Limited(1));
  Request(b, u"n", Limited(1));
  Request(c, u"n", kShared);
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(Limit, IsFreeAgainWhenTheProcessOfAHolderDies) {
  Request(a, u"n", Limited(2));
  Request(b, u"n", Limited(2));
  Request(c, u"n", Limited(2));
  machine.Kill(q);
  ASSERT_TRUE(machine.LockTableOf(r).Reap(q, kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(3));
}

}  // namespace
}  // namespace holdfast::test
