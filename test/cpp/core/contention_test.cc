// The notice to a holder that another request waits. Beyond the standard.
#include "core/lock_table.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class ContentionTest : public LockTableTest {
 protected:
  static bool IsContended(FakeAgent& agent, uint32_t id) {
    EXPECT_TRUE(agent.TakeEvents().ok());
    return agent.mine().at(id).is_contended;
  }
};

TEST_F(ContentionTest, IsReportedWhenAnotherRequestWaits) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_FALSE(a.WatchContention(held));
  EXPECT_FALSE(IsContended(a, held));
  Request(b, u"n");
  EXPECT_TRUE(IsContended(a, held));
}

TEST_F(ContentionTest, IsKnownAtOnceIfARequestWaitsAlready) {
  const uint32_t held = IdOf(a, u"n");
  Request(b, u"n");
  EXPECT_TRUE(a.WatchContention(held));
}

TEST_F(ContentionTest, IsReportedForARequestOfTheSameAgent) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_FALSE(a.WatchContention(held));
  Request(a, u"n");
  EXPECT_TRUE(IsContended(a, held));
}

TEST_F(ContentionTest, IsReportedToEachHolderThatWatches) {
  const uint32_t first = IdOf(a, u"n", kShared);
  const uint32_t second = IdOf(b, u"n", kShared);
  const uint32_t third = IdOf(c, u"n", kShared);
  EXPECT_FALSE(a.WatchContention(first));
  EXPECT_FALSE(c.WatchContention(third));
  Request(a2, u"n");
  EXPECT_TRUE(IsContended(a, first));
  EXPECT_FALSE(b.HasEvents());
  EXPECT_FALSE(IsContended(b, second));
  EXPECT_TRUE(IsContended(c, third));
}

TEST_F(ContentionTest, IsReportedOnce) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_FALSE(a.WatchContention(held));
  Request(b, u"n");
  EXPECT_TRUE(IsContended(a, held));
  Request(c, u"n");
  EXPECT_FALSE(a.HasEvents());
}

TEST_F(ContentionTest, IsNotReportedForARequestThatDoesNotWait) {
  const uint32_t held = IdOf(a, u"n", kShared);
  EXPECT_FALSE(a.WatchContention(held));
  Request(b, u"n", kShared);
  Request(b, u"n", kIfAvailable);
  EXPECT_FALSE(a.HasEvents());
}

TEST_F(ContentionTest, IsReportedAgainAfterTheQueueWasEmptyIfItIsWatchedAgain) {
  const uint32_t held = IdOf(a, u"n");
  const uint32_t waiting = IdOf(b, u"n");
  EXPECT_TRUE(a.WatchContention(held));
  ASSERT_TRUE(b.End(waiting).ok());
  EXPECT_FALSE(a.WatchContention(held));
  Request(c, u"n");
  EXPECT_TRUE(a.HasEvents());
}

TEST_F(ContentionTest, RevokesABiasedLock) {
  const uint32_t held = IdOf(a, u"n");
  a.EndOrBias(held);
  ASSERT_TRUE(a.AcquireBiased(held));
  EXPECT_FALSE(a.WatchContention(held));
  Request(b, u"n");
  EXPECT_TRUE(IsContended(a, held));
  EXPECT_FALSE(a.ReleaseBiased(held));
}

TEST_F(ContentionTest, IsWatchedByNoRecordThatIsBiased) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_FALSE(a.WatchContention(held));
  a.EndOrBias(held);
  EXPECT_TRUE(a.biased().empty());
}

TEST_F(ContentionTest, OfALostLockIsNone) {
  const uint32_t held = IdOf(a, u"n");
  Request(b, u"n", kSteal);
  Request(c, u"n");
  EXPECT_FALSE(a.WatchContention(held));
}

TEST_F(ContentionTest, IsNotInheritedByTheNextRequestInTheCell) {
  const uint32_t held = IdOf(a, u"n");
  EXPECT_FALSE(a.WatchContention(held));
  ASSERT_TRUE(a.End(held).ok());
  const uint32_t next = IdOf(a, u"n");
  Request(b, u"n");
  EXPECT_FALSE(IsContended(a, next));
}

}  // namespace
}  // namespace holdfast::test
