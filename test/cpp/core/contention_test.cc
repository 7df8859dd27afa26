// The notices to a holder of the highest priority that waits. Beyond the standard.
#include <vector>

#include "core/lock_table.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using segment::Contention;

class ContentionTest : public LockTableTest {
 protected:
  static Contention ContentionOf(FakeAgent& agent, uint32_t id) {
    EXPECT_TRUE(agent.TakeEvents().ok());
    return agent.mine().at(id).contention;
  }
};

TEST_F(ContentionTest, IsReportedWhenAnotherRequestWaits) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  EXPECT_EQ(ContentionOf(a, held), Contention::kNone);
  Request(b, u"n");
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserVisible);
}

TEST_F(ContentionTest, IsKnownAtOnceIfARequestWaitsAlready) {
  const uint32_t held = IdOf(a, u"n");
  Request(b, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kUserVisible);
}

TEST_F(ContentionTest, IsReportedForARequestOfTheSameAgent) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  Request(a, u"n");
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserVisible);
}

TEST_F(ContentionTest, IsReportedToEachHolderThatWatches) {
  const uint32_t first = IdOf(a, u"n", kShared);
  const uint32_t second = IdOf(b, u"n", kShared);
  const uint32_t third = IdOf(c, u"n", kShared);
  EXPECT_EQ(a.WatchContention(first), Contention::kNone);
  EXPECT_EQ(c.WatchContention(third), Contention::kNone);
  Request(a2, u"n");
  EXPECT_EQ(ContentionOf(a, first), Contention::kUserVisible);
  EXPECT_FALSE(b.HasEvents());
  EXPECT_EQ(ContentionOf(b, second), Contention::kUnwatched);
  EXPECT_EQ(ContentionOf(c, third), Contention::kUserVisible);
}

TEST_F(ContentionTest, IsReportedOncePerPriority) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  Request(b, u"n");
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserVisible);
  Request(c, u"n");
  EXPECT_FALSE(a.HasEvents());
}

TEST_F(ContentionTest, IsNotReportedForARequestThatDoesNotWait) {
  const uint32_t held = IdOf(a, u"n", kShared);
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  Request(b, u"n", kShared);
  Request(b, u"n", kIfAvailable);
  EXPECT_FALSE(a.HasEvents());
}

TEST_F(ContentionTest, RisesAndFallsWithTheRequestsThatWait) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  const uint32_t low = IdOf(b, u"n", kBackground);
  EXPECT_EQ(ContentionOf(a, held), Contention::kBackground);
  const uint32_t urgent = IdOf(c, u"n", kUrgent);
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserBlocking);
  const uint32_t plain = IdOf(b, u"n");
  EXPECT_FALSE(a.HasEvents());
  ASSERT_TRUE(c.End(urgent).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserVisible);
  ASSERT_TRUE(b.End(low).ok());
  EXPECT_FALSE(a.HasEvents());
  ASSERT_TRUE(b.End(plain).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kNone);
  Request(c, u"n", kBackground);
  EXPECT_EQ(ContentionOf(a, held), Contention::kBackground);
}

TEST_F(ContentionTest, FollowsAChangeOfPriority) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  const uint32_t first = IdOf(b, u"n");
  const uint32_t second = IdOf(b, u"n");
  ASSERT_TRUE(b.ChangePriority(first, Priority::kUserBlocking).ok());  // it stays where it is
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserBlocking);
  ASSERT_TRUE(b.ChangePriority(first, Priority::kBackground).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserVisible);
  ASSERT_TRUE(b.ChangePriority(second, Priority::kBackground).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kBackground);
  ASSERT_TRUE(b.ChangePriority(first, Priority::kUserBlocking).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserBlocking);
}

TEST_F(ContentionTest, IsOfTheRequestsBehindTheFirstOneToo) {
  const uint32_t held = IdOf(a, u"n");
  const uint32_t low = IdOf(b, u"n", kBackground);
  std::vector<uint32_t> urgent;
  for (uint32_t i = 0; i < segment::kMaxOvertakes; ++i) urgent.push_back(IdOf(c, u"n", kUrgent));
  for (const uint32_t id : urgent) ASSERT_TRUE(c.End(id).ok());
  EXPECT_EQ(a.WatchContention(held), Contention::kBackground);
  const uint32_t behind = IdOf(c, u"n", kUrgent);
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserBlocking);
  ASSERT_TRUE(b.End(low).ok());
  EXPECT_FALSE(a.HasEvents());
  ASSERT_TRUE(c.End(behind).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kNone);
}

TEST_F(ContentionTest, FallsWhenTheRequestIsGrantedBesideTheHolder) {
  const uint32_t held = IdOf(a, u"n", kShared);
  const uint32_t other = IdOf(b, u"n", kShared);
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  Request(c, u"n", With(Priority::kUserBlocking, Limited(2)));
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserBlocking);
  ASSERT_TRUE(b.End(other).ok());
  EXPECT_EQ(ContentionOf(a, held), Contention::kNone);
}

TEST_F(ContentionTest, RevokesABiasedLock) {
  const uint32_t held = IdOf(a, u"n");
  a.EndOrBias(held);
  ASSERT_TRUE(a.AcquireBiased(held));
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  Request(b, u"n");
  EXPECT_EQ(ContentionOf(a, held), Contention::kUserVisible);
  EXPECT_FALSE(a.ReleaseBiased(held));
}

TEST_F(ContentionTest, IsWatchedByNoRecordThatIsBiased) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  a.EndOrBias(held);
  EXPECT_TRUE(a.biased().empty());
}

TEST_F(ContentionTest, OfALostLockIsNone) {
  const uint32_t held = IdOf(a, u"n");
  Request(b, u"n", kSteal);
  Request(c, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
}

TEST_F(ContentionTest, IsNotInheritedByTheNextRequestInTheCell) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_EQ(a.WatchContention(held), Contention::kNone);
  ASSERT_TRUE(a.End(held).ok());
  const uint32_t next = IdOf(a, u"n");
  Request(b, u"n");
  EXPECT_EQ(ContentionOf(a, next), Contention::kUnwatched);
}

}  // namespace
}  // namespace holdfast::test
