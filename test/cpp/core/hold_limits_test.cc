// Beyond the standard: a lock that may be held for so long only.
#include "core/hold_limits.h"

#include "core/wake_queue.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;
using segment::CellState;

constexpr uint64_t kLimitNs = 50'000'000;
constexpr uint64_t kYearNs = 365ULL * 86400 * 1'000'000'000;
constexpr Options kSharedFor{.mode = LockMode::kShared, .hold_limit_ns = kLimitNs};

class HoldLimits : public LockTableTest {
 protected:
  uint64_t Now() { return machine.host().MonotonicNs(); }
  void Pass(uint64_t ns) { machine.host().PassTime(ns); }
  bool IsExpired(uint32_t id) {
    const ReferenceModel records = Records();
    for (const ReferenceModel::Lost& lost : records.lost()) {
      if (lost.request.id == id) return lost.is_expired;
    }
    return false;
  }
  CellState End(FakeAgent& agent, uint32_t id) {
    const Result<CellState> state =
        agent.lock_table().End(agent.mine().at(id).record, kShardTimeoutNs);
    return state.ok() ? *state : CellState::kFree;
  }
};

TEST_F(HoldLimits, LeaveALockAloneUntilItsTimeIsOver) {
  Request(a, u"n", HeldFor(kLimitNs));
  Pass(kLimitNs - 1);
  EXPECT_EQ(a.EnforceHoldLimits(1), Now() + 1);
  EXPECT_TRUE(IsHeld(1));
  Pass(1);
  (void)a.EnforceHoldLimits(1);
  EXPECT_TRUE(IsExpired(1));
}

// P13
TEST_F(HoldLimits, NeverTakeALockThatWasRequestedWithout) {
  Request(a, u"n");
  Request(b, u"n", HeldFor(kLimitNs));
  Pass(kYearNs);
  (void)a.EnforceHoldLimits(1);
  (void)b.EnforceHoldLimits(2);
  EXPECT_TRUE(IsHeld(1));
}

TEST_F(HoldLimits, GrantToTheNextAndNotifyBoth) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  a.FallAsleep();
  b.FallAsleep();
  Pass(kLimitNs);
  (void)b.EnforceHoldLimits(2);
  EXPECT_TRUE(IsHeld(2));
  EXPECT_TRUE(machine.host().WasRung(a.ref()));
  EXPECT_TRUE(machine.host().WasRung(b.ref()));
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_FALSE(a.Holds(1));
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_TRUE(b.Holds(2));
}

TEST_F(HoldLimits, AreEnforcedByEachWaiterAlsoFurtherBack) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  Request(c, u"n");
  Pass(kLimitNs);
  (void)c.EnforceHoldLimits(3);
  EXPECT_TRUE(IsHeld(2));
  EXPECT_TRUE(IsQueued(3));
}

TEST_F(HoldLimits, OfOneSharedHolderLeaveTheOthers) {
  Request(a, u"n", kShared);
  Request(b, u"n", kSharedFor);
  Request(c, u"n");
  Pass(kLimitNs);
  (void)c.EnforceHoldLimits(3);
  EXPECT_TRUE(IsHeld(1));
  EXPECT_TRUE(IsExpired(2));
  EXPECT_TRUE(IsQueued(3));
}

TEST_F(HoldLimits, TakeOneLockPerCheckAndRequireAnotherAtOnce) {
  Request(a, u"n", kSharedFor);
  Request(b, u"n", kSharedFor);
  Request(c, u"n");
  Pass(kLimitNs);
  EXPECT_LE(c.EnforceHoldLimits(3), Now());
  EXPECT_TRUE(IsQueued(3));
  (void)c.EnforceHoldLimits(3);
  EXPECT_TRUE(IsHeld(3));
}

TEST_F(HoldLimits, RunFromTheGrant) {
  Request(a, u"n");
  Request(b, u"n", HeldFor(kLimitNs));
  Pass(kYearNs);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_EQ(b.EnforceHoldLimits(2), Now() + kLimitNs);
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(HoldLimits, AreToBeEnforcedByTheirHoldersAndWaiters) {
  EXPECT_FALSE(Request(a, u"n").has_to_do_with_hold_limits);
  EXPECT_FALSE(Request(b, u"n").has_to_do_with_hold_limits);
  EXPECT_TRUE(Request(a, u"m", HeldFor(kLimitNs)).has_to_do_with_hold_limits);
  EXPECT_TRUE(Request(b, u"m").has_to_do_with_hold_limits);
  EXPECT_TRUE(Request(c, u"n", HeldFor(kLimitNs)).has_to_do_with_hold_limits);
}

// So every holder is seen before its time is over, even if other processes have stopped.
TEST_F(HoldLimits, AreCheckedOnceWithinTheShortestLimit) {
  Request(a, u"n", HeldFor(kYearNs));
  Request(b, u"n", HeldFor(kLimitNs));
  Request(c, u"n");
  EXPECT_EQ(c.EnforceHoldLimits(3), Now() + kLimitNs);
  ASSERT_TRUE(a.End(1).ok());
  Pass(kLimitNs / 2);
  EXPECT_EQ(c.EnforceHoldLimits(3), Now() + kLimitNs / 2);
}

TEST_F(HoldLimits, AreNotCheckedAnyMoreWhenNoRecordHasOne) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  Request(c, u"n");
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_EQ(c.EnforceHoldLimits(3), 0U);
  EXPECT_EQ(b.EnforceHoldLimits(2), 0U);
}

TEST_F(HoldLimits, SayAtTheReleaseThatTheTimeWasOver) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"m", HeldFor(kLimitNs));
  Pass(kLimitNs - 1);
  EXPECT_EQ(End(a, 1), CellState::kHeld);
  Pass(1);
  EXPECT_EQ(End(b, 2), CellState::kExpired);
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(HoldLimits, OfAnotherClockRunFromTheFirstCheck) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  machine.host().ChangeClock(2);
  Pass(kYearNs);
  EXPECT_EQ(b.EnforceHoldLimits(2), Now() + kLimitNs);
  Pass(kLimitNs - 1);
  EXPECT_EQ(b.EnforceHoldLimits(2), Now() + 1);
  EXPECT_TRUE(IsHeld(1));
  Pass(1);
  (void)b.EnforceHoldLimits(2);
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(HoldLimits, OfAnUnknownClockAreNotCompared) {
  machine.host().ChangeClock(0);
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  Pass(kYearNs);
  EXPECT_EQ(b.EnforceHoldLimits(2), Now() + kLimitNs);
  EXPECT_TRUE(IsHeld(1));
}

TEST_F(HoldLimits, OfAnotherClockBeginAnewWithTheNextHolder) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n", HeldFor(kLimitNs));
  Request(c, u"n");
  machine.host().ChangeClock(2);
  (void)c.EnforceHoldLimits(3);
  Pass(kLimitNs / 2);
  ASSERT_TRUE(a.End(1).ok());
  machine.host().ChangeClock(3);  // the grant was by clock 2
  EXPECT_EQ(c.EnforceHoldLimits(3), Now() + kLimitNs);
}

TEST_F(HoldLimits, WithATimeInTheFutureCountFromNow) {
  const core::RequestReply reply = Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  segment::AsRequest(*machine.segment().CellByNumber(reply.record.cell - 1))
      .granted_ns.Set(UINT64_MAX);
  EXPECT_EQ(b.EnforceHoldLimits(2), Now() + kLimitNs);
}

TEST_F(HoldLimits, FreeTheNameWithItsLastUse) {
  Request(a, u"n", {.hold_limit_ns = kLimitNs, .label = u"a label"});
  Pass(kLimitNs);
  (void)a.EnforceHoldLimits(1);
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(HoldLimits, RingTheAgentWithAGrantOfAProcessThatDiedBeforeItRang) {
  Request(a, u"n", HeldFor(kLimitNs));
  Request(b, u"n");
  Request(c, u"n");
  b.FallAsleep();
  Pass(kLimitNs);
  (void)c.EnforceHoldLimits(3);
  machine.host().ForgetRings();  // it had taken the mark of the sleeper, and rung no agent
  (void)b.EnforceHoldLimits(2);
  EXPECT_TRUE(machine.host().WasRung(b.ref()));
  ASSERT_TRUE(b.TakeEvents().ok());
  machine.host().ForgetRings();
  (void)b.EnforceHoldLimits(2);
  EXPECT_FALSE(machine.host().WasRung(b.ref()));
}

TEST_F(HoldLimits, OfAStealerAreReportedToAgentsThatWaitAlready) {
  Request(a, u"n");
  Request(b, u"n", kShared);
  Request(c, u"n", kShared);
  for (FakeAgent* const agent : {&b, &c}) agent->FallAsleep();
  Request(a2, u"n", {.steal = true, .hold_limit_ns = kLimitNs});
  EXPECT_TRUE(machine.host().WasRung(b.ref()));
  EXPECT_TRUE(machine.host().WasRung(c.ref()));
  for (FakeAgent* const agent : {&a, &b, &c}) ASSERT_TRUE(agent->TakeEvents().ok());
}

TEST_F(HoldLimits, OfAStealerCountFromItsSteal) {
  Request(a, u"n");
  Request(b, u"n", {.steal = true, .hold_limit_ns = kLimitNs});
  Request(c, u"n");
  Pass(kLimitNs);
  (void)c.EnforceHoldLimits(3);
  EXPECT_TRUE(IsHeld(3));
}

TEST(FirstSeenTimes, RememberUntilNoAgentReadsThemAnyMore) {
  core::FirstSeenTimes first_seen;
  EXPECT_EQ(first_seen.SinceNs(7, 100), 100U);
  first_seen.Prune();
  EXPECT_EQ(first_seen.SinceNs(7, 200), 100U);
  first_seen.Prune();
  first_seen.Prune();
  EXPECT_EQ(first_seen.SinceNs(7, 300), 300U);
}

TEST(FirstSeenTimes, BeginWithTheRecordsThatHadNoRoomWhenThereIsSome) {
  core::FirstSeenTimes first_seen;
  for (uint64_t token = 1; token <= 8; ++token) (void)first_seen.SinceNs(token, 100);
  EXPECT_EQ(first_seen.SinceNs(9, 200), 200U);
  EXPECT_EQ(first_seen.SinceNs(9, 300), 300U);
  first_seen.Prune();
  for (uint64_t token = 2; token <= 8; ++token) EXPECT_EQ(first_seen.SinceNs(token, 400), 100U);
  first_seen.Prune();
  EXPECT_EQ(first_seen.SinceNs(9, 400), 400U);
  EXPECT_EQ(first_seen.SinceNs(9, 500), 400U);
}

}  // namespace
}  // namespace holdfast::test
