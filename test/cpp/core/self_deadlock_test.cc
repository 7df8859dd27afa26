// Whether a thread that blocks for a request would wait for itself.
#include "core/self_deadlock.h"

#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class SelfDeadlock : public LockTableTest {
 protected:
  void SetUp() override { MoveToThread(a2, 1); }

  // Node's number of the thread that an agent lives in.
  void MoveToThread(FakeAgent& agent, uint32_t thread_id) {
    machine.segment().agent(agent.ref().index).thread_id.Set(thread_id);
  }
  bool WouldSelfDeadlock(FakeAgent& agent) {
    core::LockTable lock_table = agent.lock_table();
    const Result<bool> waits = core::WouldSelfDeadlock(
        lock_table, agent.ref(), agent.mine().rbegin()->second.record, kShardTimeoutNs);
    EXPECT_TRUE(waits.ok());
    return waits.ok() && *waits;
  }
};

TEST_F(SelfDeadlock, IsForItsOwnLock) {
  Request(a, u"n");
  Request(a, u"n");
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsNotForTheLockOfAnotherThreadOfItsProcess) {
  Request(a2, u"n");
  Request(a, u"n");
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsForTheLockOfAnotherAgentOfItsThread) {
  MoveToThread(a2, 0);
  Request(a2, u"n");
  Request(a, u"n");
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsNotForAThreadOfTheSameNumberInAnotherProcess) {
  Request(b, u"n");
  Request(a, u"n");
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsForItsOwnSharedLockOnlyIfAnAgentCannotHoldBesideIt) {
  Request(b, u"n");
  Request(a, u"n", kShared);
  Request(a, u"n", kShared);
  EXPECT_FALSE(WouldSelfDeadlock(a));
  Request(a, u"n");
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsForAnAgentThatWaitsForItsOwnLock) {
  Request(a, u"n", kShared);
  Request(b, u"n");
  Request(c, u"n", kShared);
  Request(a, u"n", kShared);
  EXPECT_TRUE(WouldSelfDeadlock(a));
  EXPECT_FALSE(WouldSelfDeadlock(c));
}

TEST_F(SelfDeadlock, IsForItsOwnEarlierRequest) {
  Request(b, u"n");
  Request(a, u"n");
  Request(c, u"n", kShared);
  Request(a, u"n", kShared);
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, CountsItsOwnLocksAgainstTheLimit) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  Request(a, u"n", Limited(2));
  EXPECT_FALSE(WouldSelfDeadlock(a));
  Request(a, u"n", Limited(1));
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, CountsThemAgainstTheLimitsOfThoseBeforeIt) {
  Request(a, u"n", kShared);
  Request(b, u"n", Limited(1));
  Request(a, u"n", kShared);
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

// Its limit was met when it was granted.
TEST_F(SelfDeadlock, DoesNotCountThemAgainstTheLimitsOfHolders) {
  Request(b, u"n", Limited(1));
  Request(a, u"n", kShared);
  Request(c, u"n", Limited(2));
  Request(a, u"n", kShared);
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsOverWithTheGrant) {
  Request(a, u"n");
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

}  // namespace
}  // namespace holdfast::test
