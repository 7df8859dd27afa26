#include "core/adaptive_spin.h"

#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::AdaptiveSpin;
using core::Blocker;

constexpr uint32_t kHere = 1;
constexpr uint32_t kThere = 2;

// Agent b waits behind agent a, which runs on another processor.
class AdaptiveSpinTest : public LockTableTest {
 protected:
  AdaptiveSpinTest() {
    machine.host().MoveTo(kHere);
    OfA().cpu.Set(kThere);
    Request(a, u"n");
    behind_a = Request(b, u"n").blocker;
  }

  segment::AgentEntry& OfA() { return machine.segment().agent(a.ref().index); }
  // Whether it waits at all when nothing comes.
  bool Waits() {
    const uint64_t before = machine.host().MonotonicNs();
    EXPECT_FALSE(wait.SpinFor([] { return false; }));
    return machine.host().MonotonicNs() != before;
  }
  bool WaitsOnceMore() {
    wait.OnEvents();
    return Waits();
  }

  Blocker behind_a;
  AdaptiveSpin wait{machine.segment(), machine.host(), b.ref().index};
};

TEST_F(AdaptiveSpinTest, ReceivesEventsThatComeMeanwhile) {
  int pauses = 0;
  machine.host().DuringPause([&] {
    if (++pauses == 100) (void)a.End(1);
  });
  wait.Queued(behind_a);
  EXPECT_TRUE(wait.SpinFor([this] { return b.HasEvents(); }));
  EXPECT_EQ(pauses, 100);
}

TEST_F(AdaptiveSpinTest, EndsAfterItsTime) {
  wait.Queued(behind_a);
  const uint64_t before = machine.host().MonotonicNs();
  EXPECT_FALSE(wait.SpinFor([] { return false; }));
  const uint64_t waited_ns = machine.host().MonotonicNs() - before;
  EXPECT_GE(waited_ns, AdaptiveSpin::kMaxNs);
  EXPECT_LT(waited_ns, AdaptiveSpin::kMaxNs + AdaptiveSpin::kMaxNs / 10);
}

TEST_F(AdaptiveSpinTest, SaysWhereItRuns) {
  EXPECT_EQ(machine.segment().agent(b.ref().index).cpu.Get(), 0U);
  wait.Queued(behind_a);
  EXPECT_EQ(machine.segment().agent(b.ref().index).cpu.Get(), kHere);
  machine.host().MoveTo(kThere);
  wait.OnEvents();
  EXPECT_EQ(machine.segment().agent(b.ref().index).cpu.Get(), kThere);
}

TEST_F(AdaptiveSpinTest, IsForNoAgentWithoutAQueuedRequest) { EXPECT_FALSE(WaitsOnceMore()); }

// On one processor no waiter spins.
TEST_F(AdaptiveSpinTest, IsForNoAgentOnTheSameProcessor) {
  OfA().cpu.Set(kHere);
  wait.Queued(behind_a);
  EXPECT_FALSE(Waits());
}

TEST_F(AdaptiveSpinTest, IsForNoAgentWithAnUnknownProcessor) {
  OfA().cpu.Set(0);
  wait.Queued(behind_a);
  EXPECT_FALSE(Waits());
  OfA().cpu.Set(kThere);
  machine.host().MoveTo(0);
  EXPECT_FALSE(WaitsOnceMore());
}

TEST_F(AdaptiveSpinTest, IsForNoAgentBehindASleeper) {
  constexpr uint32_t kSleep = 7;
  wait.Queued(behind_a);
  OfA().sleeping.Set(kSleep);
  EXPECT_FALSE(Waits());
  OfA().sleeping.Set(kSleep | segment::kRung);  // it is about to run
  EXPECT_TRUE(WaitsOnceMore());
}

TEST_F(AdaptiveSpinTest, EndsWhenTheOtherFallsAsleepOrComesHere) {
  wait.Queued(behind_a);
  const uint64_t before = machine.host().MonotonicNs();
  machine.host().DuringPause([this] { OfA().cpu.Set(kHere); });
  EXPECT_FALSE(wait.SpinFor([] { return false; }));
  EXPECT_LT(machine.host().MonotonicNs() - before, AdaptiveSpin::kMaxNs / 2);
}

TEST_F(AdaptiveSpinTest, IsForTheFirstTwoOfAQueue) {
  EXPECT_EQ(behind_a.holder, 1U + a.ref().index);
  const Blocker second = Request(c, u"n").blocker;
  EXPECT_EQ(second.holder, 1U + b.ref().index);
  const Blocker third = Request(a2, u"n").blocker;
  EXPECT_EQ(third.holder, 0U);
  wait.Queued(third);
  EXPECT_FALSE(Waits());
}

TEST_F(AdaptiveSpinTest, IsForNoAgentBehindSeveralHolders) {
  Request(a, u"m", kShared);
  Request(c, u"m", kShared);
  EXPECT_EQ(Request(b, u"m").blocker.holder, 0U);
}

// A lock that is held for long costs one wait, however often the loop comes round.
TEST_F(AdaptiveSpinTest, IsOneForEachOccasion) {
  wait.Queued(behind_a);
  EXPECT_TRUE(Waits());
  EXPECT_FALSE(Waits());
  EXPECT_FALSE(Waits());
}

TEST_F(AdaptiveSpinTest, BacksOffWhileItDoesNotPay) {
  constexpr int kOccasions = 10'000;
  int waits = 0;
  wait.Queued(behind_a);
  for (int i = 0; i < kOccasions; ++i) waits += WaitsOnceMore() ? 1 : 0;
  EXPECT_GT(waits, kOccasions >> (AdaptiveSpin::kMaxFailures + 1));
  EXPECT_LT(waits, (kOccasions >> AdaptiveSpin::kMaxFailures) + 10);
}

TEST_F(AdaptiveSpinTest, WaitsEachTimeAgainAsSoonAsItPays) {
  wait.Queued(behind_a);
  EXPECT_TRUE(WaitsOnceMore());
  EXPECT_FALSE(WaitsOnceMore());  // skipped
  wait.OnEvents();
  EXPECT_TRUE(wait.SpinFor([] { return true; }));
  EXPECT_TRUE(WaitsOnceMore());
}

class PrewakeTest : public AdaptiveSpinTest {
 protected:
  // Agent b is far behind in a queue, so it sleeps.
  PrewakeTest() { wait.Queued({}); }

  bool FallsAsleepWantingARing() {
    wait.FallingAsleep();
    return OfB().prewake.Get() == segment::kPrewakeWanted;
  }
  void Prewake() {
    OfB().prewake.Set(1U + a.ref().index);
    wait.Woken();
  }
  segment::AgentEntry& OfB() { return machine.segment().agent(b.ref().index); }
};

TEST_F(PrewakeTest, IsFollowedByAWait) {
  EXPECT_FALSE(Waits());
  ASSERT_TRUE(FallsAsleepWantingARing());
  Prewake();
  EXPECT_EQ(OfB().prewake.Get(), 0U);
  EXPECT_TRUE(Waits());
}

TEST_F(PrewakeTest, IsNoRingWhenItWokeByItself) {
  ASSERT_TRUE(FallsAsleepWantingARing());
  wait.Woken();
  EXPECT_EQ(OfB().prewake.Get(), 0U);
  EXPECT_FALSE(Waits());
}

// In vain: the lock was held for longer than a wait, or by an agent on the same processor.
TEST_F(PrewakeTest, IsWantedLessOftenWhileItDoesNotPay) {
  constexpr int kOccasions = 10'000;
  for (const uint32_t cpu : {kThere, kHere}) {
    OfA().cpu.Set(cpu);
    int rings = 0;
    for (int i = 0; i < kOccasions; ++i) {
      wait.Queued({});
      if (!FallsAsleepWantingARing()) continue;
      ++rings;
      Prewake();
      EXPECT_EQ(Waits(), cpu == kThere);
    }
    EXPECT_GT(rings, kOccasions >> (AdaptiveSpin::kMaxFailures + 1));
    EXPECT_LT(rings, (kOccasions >> AdaptiveSpin::kMaxFailures) + 10);
  }
}

TEST_F(PrewakeTest, IsWantedEachTimeAgainAsSoonAsItPays) {
  Prewake();
  EXPECT_TRUE(Waits());
  EXPECT_FALSE(FallsAsleepWantingARing());
  Prewake();
  EXPECT_TRUE(wait.SpinFor([] { return true; }));
  EXPECT_TRUE(FallsAsleepWantingARing());
}

// The wake-up took as long as the lock was held: it still paid.
TEST_F(PrewakeTest, PaysWhenTheLockWasGrantedMeanwhile) {
  for (int i = 0; i < 10; ++i) {
    Prewake();
    wait.OnEvents();
    wait.Queued({});
    EXPECT_TRUE(FallsAsleepWantingARing());
  }
}

TEST_F(PrewakeTest, OfAnAgentThatThereIsNotIsNone) {
  OfB().prewake.Set(machine.segment().geometry().agents + 1);
  wait.Woken();
  EXPECT_FALSE(Waits());
}

// A word of the segment may say anything.
TEST_F(AdaptiveSpinTest, ReadsNoAgentThatDoesNotExist) {
  wait.Queued({p, false, machine.segment().geometry().agents + 1});
  EXPECT_FALSE(Waits());
}

}  // namespace
}  // namespace holdfast::test
