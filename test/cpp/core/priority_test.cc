// The order of those that wait: by priority, then by age, with a bound. Beyond the standard.
#include "segment/priority.h"

#include <algorithm>

#include "core/lock_table.h"
#include "core/snapshot.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class PriorityTest : public LockTableTest {
 protected:
  std::vector<core::LockInfo> Pending() {
    core::LockTable lock_table = a.lock_table();
    return core::TakeSnapshot(lock_table, kShardTimeoutNs)->pending;
  }
  std::vector<uint32_t> Waiting() {
    std::vector<uint32_t> ids;
    for (const core::LockInfo& info : Pending()) ids.push_back(info.request_id);
    return ids;
  }
  uint32_t OvertakesOf(uint32_t id) {
    for (const core::LockInfo& info : Pending()) {
      if (info.request_id == id) return info.position.overtakes;
    }
    ADD_FAILURE() << id << " does not wait";
    return 0;
  }
  void ExpectOrder(const std::vector<uint32_t>& ids) {
    EXPECT_EQ(Waiting(), ids);
    EXPECT_EQ(segment::CheckInvariants(machine.segment()), segment::Violations{});
  }
};

TEST_F(PriorityTest, ComesBeforeAge) {
  IdOf(a, u"n");
  const uint32_t low = IdOf(a, u"n", kBackground);
  const uint32_t plain = IdOf(b, u"n");
  const uint32_t urgent = IdOf(c, u"n", kUrgent);
  const uint32_t second_plain = IdOf(a, u"n");
  const uint32_t second_urgent = IdOf(b, u"n", kUrgent);
  ExpectOrder({urgent, second_urgent, plain, second_plain, low});
}

TEST_F(PriorityTest, IsNoReasonToOvertakeMoreThanSixteenTimes) {
  IdOf(a, u"n");
  const uint32_t low = IdOf(a, u"n", kBackground);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < segment::kMaxOvertakes; ++i) order.push_back(IdOf(b, u"n", kUrgent));
  order.push_back(low);
  const uint32_t younger = IdOf(c, u"n", kBackground);
  order.push_back(IdOf(b, u"n"));
  order.push_back(younger);
  ExpectOrder(order);
  EXPECT_EQ(OvertakesOf(low), segment::kMaxOvertakes);
  EXPECT_EQ(OvertakesOf(younger), 1U);
}

TEST_F(PriorityTest, CountsARequestThatIsGrantedAtOnce) {
  IdOf(a, u"n", kShared);
  const uint32_t writer = IdOf(b, u"n");
  const Options reader = With(Priority::kUserBlocking, kShared);
  for (uint32_t i = 0; i < segment::kMaxOvertakes; ++i) {
    const uint32_t id = IdOf(c, u"n", reader);
    EXPECT_TRUE(c.Holds(id));
    EXPECT_EQ(OvertakesOf(writer), i + 1);
    ASSERT_TRUE(c.End(id).ok());
  }
  const uint32_t last = IdOf(c, u"n", reader);
  EXPECT_FALSE(c.Holds(last));
  ExpectOrder({writer, last});
}

TEST_F(PriorityTest, OfARequestThatIsMissedCountsNothing) {
  IdOf(a, u"n");
  const uint32_t low = IdOf(b, u"n", kBackground);
  Request(c, u"n", With(Priority::kUserBlocking, kIfAvailable));
  EXPECT_EQ(OvertakesOf(low), 0U);
}

TEST_F(PriorityTest, RisesAndFallsWhileTheRequestKeepsItsAge) {
  IdOf(a, u"n");
  const uint32_t first = IdOf(b, u"n", kBackground);
  const uint32_t second = IdOf(c, u"n");
  const uint32_t third = IdOf(b, u"n");
  ASSERT_TRUE(b.ChangePriority(first, Priority::kUserVisible).ok());
  ExpectOrder({first, second, third});
  EXPECT_EQ(OvertakesOf(first), 2U);
  ASSERT_TRUE(c.ChangePriority(second, Priority::kBackground).ok());
  ExpectOrder({first, third, second});
  ASSERT_TRUE(b.ChangePriority(third, Priority::kUserBlocking).ok());
  ExpectOrder({third, first, second});
  ASSERT_TRUE(b.ChangePriority(third, Priority::kUserVisible).ok());
  ExpectOrder({first, third, second});
}

TEST_F(PriorityTest, ThatRisesMovesNoRequestBack) {
  IdOf(a, u"n");
  const uint32_t low = IdOf(a, u"n", kBackground);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < segment::kMaxOvertakes; ++i) order.push_back(IdOf(b, u"n"));
  ASSERT_TRUE(b.ChangePriority(order.back(), Priority::kUserBlocking).ok());
  std::rotate(order.begin(), order.end() - 1, order.end());
  order.push_back(low);
  ExpectOrder(order);
  EXPECT_EQ(OvertakesOf(low), segment::kMaxOvertakes);
}

TEST_F(PriorityTest, IsReportedToAWaiterWhenAnotherIsGrantedBeforeIt) {
  IdOf(a, u"n", kShared);
  IdOf(b, u"n");
  ASSERT_TRUE(b.TakeEvents().ok());
  IdOf(c, u"n", With(Priority::kUserBlocking, kShared));
  EXPECT_TRUE(b.HasEvents());
}

TEST_F(PriorityTest, OfAHolderChangesNothing) {
  const uint32_t held = IdOf(a, u"n");
  const uint32_t low = IdOf(b, u"n", kBackground);
  ASSERT_TRUE(a.ChangePriority(held, Priority::kUserBlocking).ok());
  ExpectOrder({low});
}

TEST_F(PriorityTest, SurvivesARepair) {
  IdOf(a, u"n");
  const uint32_t low = IdOf(a, u"n", kBackground);
  const uint32_t urgent = IdOf(b, u"n", kUrgent);
  const uint32_t plain = IdOf(c, u"n");
  for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
    machine.segment().shard(shard).dirty.Set(1);
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    ASSERT_TRUE(a.lock_table().Enter(shard, wake_queue, kShardTimeoutNs).ok());
  }
  ExpectOrder({urgent, plain, low});
  EXPECT_EQ(OvertakesOf(low), 2U);
}

TEST_F(PriorityTest, OfARequestWithAHoldLimitIsKnownToThoseBehindIt) {
  IdOf(a, u"n");
  IdOf(b, u"n");
  const uint32_t last = IdOf(a2, u"n");
  ASSERT_TRUE(a2.TakeEvents().ok());
  IdOf(c, u"n", With(Priority::kUserBlocking, HeldFor(1000)));
  EXPECT_TRUE(a2.HasEvents());
  EXPECT_NE(a2.EnforceHoldLimits(last), 0U);
}

TEST_F(PriorityTest, KeepsALockFromBeingBiased) {
  const uint32_t held = IdOf(a, u"n", kUrgent);
  EXPECT_FALSE(a.EndOrBias(held));
}

}  // namespace
}  // namespace holdfast::test
