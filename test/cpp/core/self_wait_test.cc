// Whether a thread that blocks for a request would wait for itself.
#include "core/self_wait.h"

#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class SelfWait : public LockTableTest {
 protected:
  void SetUp() override { MoveToThread(a2, 1); }

  // Node's number of the thread that an agent lives in.
  void MoveToThread(FakeAgent& agent, uint32_t thread_id) {
    machine.segment().agent(agent.ref().index).thread_id.Set(thread_id);
  }
  bool WaitsForItself(FakeAgent& agent) {
    core::LockManager manager = agent.manager();
    const Result<bool> waits =
        core::WaitsForItself(manager, agent.ref(), agent.mine().rbegin()->second.record, kBudgetNs);
    EXPECT_TRUE(waits.ok());
    return waits.ok() && *waits;
  }
};

TEST_F(SelfWait, IsForItsOwnLock) {
  Ask(a, u"n");
  Ask(a, u"n");
  EXPECT_TRUE(WaitsForItself(a));
}

TEST_F(SelfWait, IsNotForTheLockOfAnotherThreadOfItsProcess) {
  Ask(a2, u"n");
  Ask(a, u"n");
  EXPECT_FALSE(WaitsForItself(a));
}

TEST_F(SelfWait, IsForTheLockOfAnotherAgentOfItsThread) {
  MoveToThread(a2, 0);
  Ask(a2, u"n");
  Ask(a, u"n");
  EXPECT_TRUE(WaitsForItself(a));
}

TEST_F(SelfWait, IsNotForAThreadOfTheSameNumberInAnotherProcess) {
  Ask(b, u"n");
  Ask(a, u"n");
  EXPECT_FALSE(WaitsForItself(a));
}

TEST_F(SelfWait, IsForItsOwnSharedLockOnlyIfSomebodyCannotHoldBesideIt) {
  Ask(b, u"n");
  Ask(a, u"n", kShared);
  Ask(a, u"n", kShared);
  EXPECT_FALSE(WaitsForItself(a));
  Ask(a, u"n");
  EXPECT_TRUE(WaitsForItself(a));
}

TEST_F(SelfWait, IsForWhoWaitsForItsOwnLock) {
  Ask(a, u"n", kShared);
  Ask(b, u"n");
  Ask(c, u"n", kShared);
  Ask(a, u"n", kShared);
  EXPECT_TRUE(WaitsForItself(a));
  EXPECT_FALSE(WaitsForItself(c));
}

TEST_F(SelfWait, IsForItsOwnEarlierRequest) {
  Ask(b, u"n");
  Ask(a, u"n");
  Ask(c, u"n", kShared);
  Ask(a, u"n", kShared);
  EXPECT_TRUE(WaitsForItself(a));
}

TEST_F(SelfWait, CountsItsOwnLocksAgainstTheLimit) {
  Ask(a, u"n", kShared);
  Ask(b, u"n", kShared);
  Ask(a, u"n", Limited(2));
  EXPECT_FALSE(WaitsForItself(a));
  Ask(a, u"n", Limited(1));
  EXPECT_TRUE(WaitsForItself(a));
}

TEST_F(SelfWait, CountsThemAgainstTheLimitsOfThoseBeforeIt) {
  Ask(a, u"n", kShared);
  Ask(b, u"n", Limited(1));
  Ask(a, u"n", kShared);
  EXPECT_TRUE(WaitsForItself(a));
}

// Its limit was met when it was granted.
TEST_F(SelfWait, DoesNotCountThemAgainstTheLimitsOfHolders) {
  Ask(b, u"n", Limited(1));
  Ask(a, u"n", kShared);
  Ask(c, u"n", Limited(2));
  Ask(a, u"n", kShared);
  EXPECT_FALSE(WaitsForItself(a));
}

TEST_F(SelfWait, IsOverWithTheGrant) {
  Ask(a, u"n");
  EXPECT_FALSE(WaitsForItself(a));
}

}  // namespace
}  // namespace holdfast::test
