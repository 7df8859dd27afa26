// The agents that are rung, and the agents that are not.
#include "core/wake_queue.h"

#include <list>

#include "support/lock_table_test.h"
#include "support/store_recorder.h"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class WakeQueueTest : public LockTableTest {
 protected:
  void AllFallAsleep() {
    for (FakeAgent* const agent : {&a, &a2, &b, &c}) agent->FallAsleep();
  }
  std::vector<uint16_t> Rung() const {
    std::vector<uint16_t> agents;
    for (const segment::AgentRef& agent : machine_rings()) agents.push_back(agent.index);
    return agents;
  }
  std::vector<segment::AgentRef> machine_rings() const {
    return const_cast<FakeMachine&>(machine).host().Rings();
  }
};

TEST_F(WakeQueueTest, RingAnAgentThatIsGrantedALockWhileItSleeps) {
  Request(a, u"n");
  Request(b, u"n");
  AllFallAsleep();
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_THAT(Rung(), ElementsAre(b.ref().index));
}

TEST_F(WakeQueueTest, LeaveAnAgentInPeaceThatIsAwake) {
  Request(a, u"n");
  Request(b, u"n");
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_THAT(Rung(), IsEmpty());
  EXPECT_TRUE(b.HasEvents());
}

TEST_F(WakeQueueTest, RingASleeperAgainIfTheFirstRingFailed) {
  Request(a, u"n");
  Request(a2, u"m");
  Request(b, u"n");
  Request(b, u"m");
  AllFallAsleep();
  machine.host().AllowRings(false);
  ASSERT_TRUE(a.End(1).ok());
  machine.host().AllowRings(true);
  ASSERT_TRUE(a2.End(2).ok());
  EXPECT_THAT(Rung(), ElementsAre(b.ref().index));
}

TEST_F(WakeQueueTest, RingASleeperOnlyOnce) {
  Request(a, u"n");
  Request(b, u"n");
  Request(a, u"m");
  Request(b, u"m");
  AllFallAsleep();
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(a.End(3).ok());
  EXPECT_THAT(Rung(), ElementsAre(b.ref().index));
}

// For a death at any store of the ringing: no process watches the ringer, so the next one rings.
TEST_F(WakeQueueTest, RingASleeperAlthoughAnotherDiedBeforeRinging) {
  const auto ring = [this] {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    wake_queue.Add(b.ref().index);
  };
  AllFallAsleep();
  const std::vector<Frame> frames = FramesOf(machine, ring);
  for (const Frame& frame : frames) {
    machine.Restore(frame.image);
    machine.host().ForgetRings();
    ring();
    EXPECT_FALSE(frame.rings.empty() && Rung().empty());
  }
}

// Waking a sleeper takes longer than many locks are held.
TEST_F(WakeQueueTest, RingTheNextWaiterWhenItWantsThat) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  AllFallAsleep();
  segment::AgentEntry& next = machine.segment().agent(c.ref().index);
  next.prewake.Set(segment::kPrewakeWanted);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_THAT(Rung(), ElementsAre(b.ref().index, c.ref().index));
  EXPECT_EQ(next.prewake.Get(), 1U + b.ref().index);
  EXPECT_FALSE(c.HasEvents());
}

TEST_F(WakeQueueTest, DoNotRingTheNextWaiterWhenItDoesNotWantThatOrHasTheLock) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  Request(b, u"m");
  Request(c, u"m");
  Request(c, u"m");
  AllFallAsleep();
  segment::AgentEntry& next = machine.segment().agent(c.ref().index);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_THAT(Rung(), ElementsAre(b.ref().index));
  next.prewake.Set(segment::kPrewakeWanted);
  ASSERT_TRUE(b.End(4).ok());
  EXPECT_THAT(Rung(), ElementsAre(b.ref().index, c.ref().index));
  EXPECT_EQ(next.prewake.Get(), segment::kPrewakeWanted);
}

// One release may grant a lock to many that share it.
TEST_F(WakeQueueTest, RingNoOtherAgentWhenManyAreToBeWoken) {
  segment::Geometry::Counts counts = kSmallCounts;
  counts.agents = 40;
  FakeMachine many(counts);
  const segment::ProcessRef process = many.Attach(0);
  std::list<FakeAgent> agents;
  for (uint16_t i = 0; i < counts.agents; ++i) agents.emplace_back(many, process, i);
  for (FakeAgent& agent : agents) agent.FallAsleep();
  constexpr uint16_t kWoken = 30;
  {
    core::WakeQueue wake_queue(many.segment(), many.host());
    for (uint16_t i = 0; i < kWoken; ++i) wake_queue.Add(i);
  }
  EXPECT_EQ(many.host().Rings().size(), kWoken);
}

TEST_F(WakeQueueTest, RingNoAgentForAGrantAtOnce) {
  AllFallAsleep();
  Request(a, u"n");
  Request(b, u"n");
  EXPECT_THAT(Rung(), IsEmpty());
}

TEST_F(WakeQueueTest, RingEveryVictimOfASteal) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  AllFallAsleep();
  Request(c, u"n", kSteal);
  EXPECT_THAT(Rung(), UnorderedElementsAre(a.ref().index, b.ref().index));
}

TEST_F(WakeQueueTest, RingTheFirstInTheQueueThatHasAStealerBeforeItNow) {
  Request(a, u"n");
  Request(b, u"n");
  AllFallAsleep();
  Request(c, u"n", kSteal);
  EXPECT_THAT(Rung(), UnorderedElementsAre(a.ref().index, b.ref().index));
}

TEST_F(WakeQueueTest, RingTheFollowerOfAnAbortedRequest) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  AllFallAsleep();
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_THAT(Rung(), ElementsAre(c.ref().index));
}

TEST_F(WakeQueueTest, LeaveAFollowerInPeaceThatNowWaitsForItsOwnProcess) {
  Request(a, u"n");
  Request(b, u"n");
  Request(a2, u"n");
  AllFallAsleep();
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_THAT(Rung(), IsEmpty());
}

TEST_F(WakeQueueTest, LeaveAFollowerInPeaceThatStillWaitsForTheSameProcess) {
  Request(a, u"n");
  Request(b, u"n");
  Request(b, u"n");
  Request(c, u"n");
  AllFallAsleep();
  ASSERT_TRUE(b.End(3).ok());
  EXPECT_THAT(Rung(), IsEmpty());
  EXPECT_FALSE(c.HasEvents());
}

TEST_F(WakeQueueTest, RingAFollowerThatWaitsForAnotherProcessNow) {
  Request(a, u"n");
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  AllFallAsleep();
  ASSERT_TRUE(b.End(3).ok());
  EXPECT_THAT(Rung(), ElementsAre(c.ref().index));
}

// It may not have been notified of the holder's hold limit.
TEST_F(WakeQueueTest, RingAFollowerThatIsTheFirstNowAlthoughTheHolderIsOfTheSameProcess) {
  Request(b, u"n");
  Request(b, u"n");
  Request(c, u"n");
  AllFallAsleep();
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_THAT(Rung(), ElementsAre(c.ref().index));
}

TEST_F(WakeQueueTest, RingEverySleeperWhenThereIsEventsForMoreAgentsThanFit) {
  const segment::Geometry::Counts counts{.shards = 1,
                                         .processes = 1,
                                         .agents = 24,
                                         .buckets_per_shard = 2,
                                         .extent_bytes = 4096,
                                         .extents = 2};
  FakeMachine crowd(counts);
  const segment::ProcessRef process = crowd.Attach(0);
  std::vector<FakeAgent> agents;
  for (uint16_t i = 0; i < counts.agents; ++i) agents.emplace_back(crowd, process, i);
  ASSERT_TRUE(agents[0].Request(0, u"n", kExclusive).ok());
  for (uint32_t i = 1; i < counts.agents; ++i) {
    ASSERT_TRUE(agents[i].Request(i, u"n", kShared).ok());
    agents[i].FallAsleep();
  }
  ASSERT_TRUE(agents[0].End(0).ok());
  EXPECT_EQ(crowd.host().Rings().size(), counts.agents - 1);
}

TEST_F(WakeQueueTest, RingEvenAnAgentThatSeemsAwakeAfterADeath) {
  for (const FakeAgent* agent : {&a, &b}) {
    machine.segment().agent(agent->ref().index).answered.Set(1);
  }
  {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    wake_queue.AddUnrung();
    wake_queue.AddRescan(c.ref().index);
  }
  EXPECT_THAT(Rung(), UnorderedElementsAre(a.ref().index, b.ref().index, c.ref().index));
}

TEST_F(WakeQueueTest, LeaveAgentsInPeaceThatADeathDoesNotConcern) {
  AllFallAsleep();
  {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    wake_queue.AddUnrung();
  }
  EXPECT_THAT(Rung(), IsEmpty());
}

TEST_F(WakeQueueTest, RingNoAgentWithAFreeEntry) {
  machine.segment().agent(b.ref().index).sleeping.Set(1);
  machine.segment().agent(b.ref().index).owner.Set(0);
  {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    wake_queue.Add(b.ref().index);
  }
  EXPECT_THAT(Rung(), IsEmpty());
}

TEST_F(WakeQueueTest, OverlookAnAgentThatCannotBe) {
  {
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    wake_queue.Add(0xFFFF);
  }
  EXPECT_THAT(Rung(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
