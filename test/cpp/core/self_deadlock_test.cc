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
  Ask(a, u"n");
  Ask(a, u"n");
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsNotForTheLockOfAnotherThreadOfItsProcess) {
  Ask(a2, u"n");
  Ask(a, u"n");
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsForTheLockOfAnotherAgentOfItsThread) {
  MoveToThread(a2, 0);
  Ask(a2, u"n");
  Ask(a, u"n");
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsNotForAThreadOfTheSameNumberInAnotherProcess) {
  Ask(b, u"n");
  Ask(a, u"n");
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsForItsOwnSharedLockOnlyIfSomebodyCannotHoldBesideIt) {
  Ask(b, u"n");
  Ask(a, u"n", kShared);
  Ask(a, u"n", kShared);
  EXPECT_FALSE(WouldSelfDeadlock(a));
  Ask(a, u"n");
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsForWhoWaitsForItsOwnLock) {
  Ask(a, u"n", kShared);
  Ask(b, u"n");
  Ask(c, u"n", kShared);
  Ask(a, u"n", kShared);
  EXPECT_TRUE(WouldSelfDeadlock(a));
  EXPECT_FALSE(WouldSelfDeadlock(c));
}

TEST_F(SelfDeadlock, IsForItsOwnEarlierRequest) {
  Ask(b, u"n");
  Ask(a, u"n");
  Ask(c, u"n", kShared);
  Ask(a, u"n", kShared);
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, CountsItsOwnLocksAgainstTheLimit) {
  Ask(a, u"n", kShared);
  Ask(b, u"n", kShared);
  Ask(a, u"n", Limited(2));
  EXPECT_FALSE(WouldSelfDeadlock(a));
  Ask(a, u"n", Limited(1));
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, CountsThemAgainstTheLimitsOfThoseBeforeIt) {
  Ask(a, u"n", kShared);
  Ask(b, u"n", Limited(1));
  Ask(a, u"n", kShared);
  EXPECT_TRUE(WouldSelfDeadlock(a));
}

// Its limit was met when it was granted.
TEST_F(SelfDeadlock, DoesNotCountThemAgainstTheLimitsOfHolders) {
  Ask(b, u"n", Limited(1));
  Ask(a, u"n", kShared);
  Ask(c, u"n", Limited(2));
  Ask(a, u"n", kShared);
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

TEST_F(SelfDeadlock, IsOverWithTheGrant) {
  Ask(a, u"n");
  EXPECT_FALSE(WouldSelfDeadlock(a));
}

}  // namespace
}  // namespace holdfast::test
