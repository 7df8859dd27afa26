// Standard: Web Locks "terminate remaining locks and requests" (#agent-integration).
#include <utility>

#include "core/lock_table.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TerminateAgent : public LockTableTest {};

TEST_F(TerminateAgent, EndsItsLocksAndItsRequests) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"m");
  Request(a, u"m");
  Request(b, u"m");
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(2));
  EXPECT_FALSE(IsQueued(4));
  EXPECT_TRUE(IsQueued(5));
}

TEST_F(TerminateAgent, LeavesTheOtherAgentsOfItsProcessAlone) {
  Request(a, u"n");
  Request(a2, u"m");
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(2));
}

TEST_F(TerminateAgent, EndsAGrantThatWasOnItsWay) {
  Request(b, u"n");
  Request(a, u"n");
  ASSERT_TRUE(b.End(1).ok());
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(TerminateAgent, EndsZombiesAndStolenRequests) {
  Request(b, u"n");
  Request(a, u"n");
  ASSERT_TRUE(b.End(1).ok());
  ASSERT_TRUE(a.End(2).ok());
  Request(a, u"m");
  Request(b, u"m", kSteal);
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_EQ(UsedCells(), 2U);  // the lock of b and its name
}

TEST_F(TerminateAgent, EndsMoreRequestsThanOneEntryToAShardAllows) {
  FakeMachine large(segment::Geometry::ForCapacity(segment::kMinCapacity));
  FakeAgent agent(large, large.Attach(0), 0);
  for (uint32_t id = 0; id < 1000; ++id) ASSERT_TRUE(agent.Request(id, u"n", kExclusive).ok());
  ASSERT_TRUE(agent.lock_table().TerminateAgent(agent.ref(), kShardTimeoutNs).ok());
  EXPECT_THAT(segment::CheckInvariants(large.segment()), IsEmpty());
  EXPECT_TRUE(ReferenceModel::Read(large.segment()).resources().empty());
}

TEST_F(TerminateAgent, LeavesTheNextBearerOfTheEntryAlone) {
  const segment::AgentRef old = a.ref();
  FakeAgent next(machine, q, old.index);
  Request(next, u"n");
  ASSERT_TRUE(b.lock_table().TerminateAgent(old, kShardTimeoutNs).ok());
  EXPECT_TRUE(IsHeld(1));
}

// Its process continues, and so does the next bearer of its entry.
TEST_F(TerminateAgent, IsMadeUpForByARepair) {
  const uint32_t shard = Request(a, u"n").record.shard;
  FakeAgent next(machine, p, a.ref().index);
  machine.segment().shard(shard).dirty.Set(1);
  core::WakeQueue wake_queue(machine.segment(), machine.host());
  ASSERT_TRUE(b.lock_table().Enter(shard, wake_queue, kShardTimeoutNs).ok());
  EXPECT_FALSE(IsHeld(1));
}

// Others may clean up at the same time, and the entry may have a new bearer at any time.
TEST_F(TerminateAgent, DoesNotTakeTheRecordsOfTheNextBearerForCorruption) {
  struct Newcomer {
    FakeMachine& machine;
    segment::AgentRef old;
    segment::ProcessRef process;
    bool is_there = false;
  } newcomer{machine, a.ref(), q};
  segment::store_observer = {nullptr, &newcomer, [](void* context) {
                               auto& self = *static_cast<Newcomer*>(context);
                               if (std::exchange(self.is_there, true)) return;
                               FakeAgent next(self.machine, self.process, self.old.index);
                               EXPECT_TRUE(next.Request(1, u"n", kExclusive).ok());
                               EXPECT_TRUE(next.Request(2, u"m", kExclusive).ok());
                             }};
  const Status done = b.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs);
  segment::store_observer = {};
  EXPECT_TRUE(done.ok()) << done.reason();
  EXPECT_TRUE(IsHeld(1) && IsHeld(2));
}

class ReapProcess : public LockTableTest {
 protected:
  void Terminate(segment::ProcessRef process, FakeAgent& by) {
    machine.Kill(process);
    EXPECT_TRUE(by.lock_table().Reap(process, kShardTimeoutNs).ok());
  }
  // The agent sleeps, and has an event for which no process has rung.
  void LeaveUnrung(FakeAgent& agent) {
    agent.FallAsleep();
    machine.segment().agent(agent.ref().index).answered.Set(1);
    machine.host().ForgetRings();
  }
};

TEST_F(ReapProcess, EndsAllItsAgents) {
  Request(a, u"n");
  Request(a2, u"m");
  Request(b, u"n");
  Request(b, u"m");
  Terminate(p, b);
  EXPECT_TRUE(IsHeld(3) && IsHeld(4));
}

// In the other order, a death between the two steps would leave a file without an entry.
TEST_F(ReapProcess, RemovesFilesBeforeItFreesTheEntriesThatNameThem) {
  Terminate(p, b);
  EXPECT_THAT(machine.host().removed_doorbells(), ElementsAre(a.ref(), a2.ref()));
  EXPECT_THAT(machine.host().removed_lifelines(), ElementsAre(p));
}

TEST_F(ReapProcess, FreesTheEntriesOfItsAgents) {
  const uint16_t index = a.ref().index;
  Terminate(p, b);
  EXPECT_EQ(machine.segment().agent(index).owner.Get(), 0U);
}

// Died between the two stores of its claim, in an entry that was never used before.
TEST_F(ReapProcess, FreesAnEntryThatWasBeingClaimed) {
  segment::AgentEntry& entry = machine.segment().agent(4);
  entry.owner.Set(p.ToWord());
  Terminate(p, b);
  EXPECT_EQ(entry.owner.Get(), 0U);
}

TEST_F(ReapProcess, NotesThatNothingIsLeftToCleanUp) {
  Terminate(p, b);
  EXPECT_EQ(machine.segment().process(p.slot).cleaned_generation.Get(), p.generation);
}

TEST_F(ReapProcess, DoesNothingTheSecondTime) {
  Request(a, u"n");
  Request(b, u"n");
  Terminate(p, b);
  Terminate(p, b);
  EXPECT_TRUE(IsHeld(2));
  EXPECT_EQ(machine.host().removed_doorbells().size(), 2U);
}

// Several may reap it at once, and the last may come late.
TEST_F(ReapProcess, DoesNotTakeBackThatALaterProcessOfTheSlotIsCleanedUp) {
  machine.Kill(p);
  const segment::ProcessRef next = machine.Attach(p.slot);
  Terminate(next, b);
  Terminate(p, b);
  EXPECT_EQ(machine.segment().process(p.slot).cleaned_generation.Get(), next.generation);
}

TEST_F(ReapProcess, CorrectsACorruptedNoteOfWhatIsCleanedUp) {
  machine.segment().process(p.slot).cleaned_generation.Set(p.generation + 9);
  Terminate(p, b);
  EXPECT_EQ(machine.segment().process(p.slot).cleaned_generation.Get(), p.generation);
}

TEST_F(ReapProcess, LeavesTheNextProcessOfTheSlotAlone) {
  machine.Kill(p);
  const segment::ProcessRef next = machine.Attach(p.slot);
  FakeAgent agent(machine, next, 5);
  Request(agent, u"n");
  Terminate(p, b);
  EXPECT_TRUE(IsHeld(1));
}

TEST_F(ReapProcess, TakesOverTheShardThatItDiedInside) {
  Request(b, u"n");
  const uint32_t shard = b.mine().at(1).record.shard;
  segment::LockWord word(machine.segment(), shard);
  ASSERT_TRUE(IsAcquired(word, p));
  Terminate(p, b);
  EXPECT_FALSE(word.IsLocked());
  EXPECT_TRUE(IsHeld(1));
}

// A process inside may be ending the requests of the dead one, and may die before it rings the
// agents that it grants.
TEST_F(ReapProcess, IsNotDoneWhileAThreadIsInsideAShard) {
  LeaveUnrung(c);
  segment::LockWord word(machine.segment(), 0);
  ASSERT_TRUE(IsAcquired(word, r));
  machine.Kill(p);
  EXPECT_EQ(b.lock_table().Reap(p, kShardTimeoutNs).code(), StatusCode::kBusy);
  EXPECT_NE(machine.segment().process(p.slot).cleaned_generation.Get(), p.generation);
  EXPECT_TRUE(machine.host().WasRung(c.ref()));
  word.Release(r, machine.host());
  Terminate(p, b);
  EXPECT_EQ(machine.segment().process(p.slot).cleaned_generation.Get(), p.generation);
}

// A process inside may be stopped there for long, and the clean-up is tried again and again.
TEST_F(ReapProcess, CausesNoNewCheckUntilAThreadHasLeftAShard) {
  segment::LockWord word(machine.segment(), 0);
  ASSERT_TRUE(IsAcquired(word, r));
  machine.Kill(p);
  core::LockTable::ReapProgress rest;
  const auto terminate = [&] { return b.lock_table().Reap(p, kShardTimeoutNs, rest).code(); };
  ASSERT_EQ(terminate(), StatusCode::kBusy);
  LeaveUnrung(c);
  EXPECT_EQ(terminate(), StatusCode::kBusy);
  EXPECT_FALSE(machine.host().WasRung(c.ref()));
  word.Release(r, machine.host());
  EXPECT_EQ(terminate(), StatusCode::kOk);
  EXPECT_TRUE(machine.host().WasRung(c.ref()));
}

// Another finder may have ended it meanwhile, and died before it rang the agents that it granted.
TEST_F(ReapProcess, CausesANewCheckByAllWhereItCouldNotEndSomethingAtFirst) {
  Request(a, u"n");
  segment::LockWord word(machine.segment(), NameOf(u"n").ShardIn(machine.segment()));
  ASSERT_TRUE(IsAcquired(word, r));
  machine.Kill(p);
  core::LockTable::ReapProgress rest;
  const auto terminate = [&] { return b.lock_table().Reap(p, kShardTimeoutNs, rest).code(); };
  ASSERT_EQ(terminate(), StatusCode::kBusy);
  rest.shards.clear();  // it has left before the shards were listed that are locked
  word.Release(r, machine.host());
  LeaveUnrung(c);
  EXPECT_EQ(terminate(), StatusCode::kOk);
  EXPECT_TRUE(machine.host().WasRung(c.ref()));
}

// Another finder has ended its agents: a repair inside a shard may have found their operations.
TEST_F(ReapProcess, IsNotDoneWhileAThreadIsInsideAShardThatEnteredBeforeAnotherEndedItsAgents) {
  Request(a, u"n");
  const uint32_t shard = NameOf(u"n").ShardIn(machine.segment());
  segment::LockWord first(machine.segment(), shard);
  segment::LockWord second(machine.segment(), 1 - shard);
  ASSERT_TRUE(IsAcquired(first, r));
  machine.Kill(p);
  core::LockTable::ReapProgress rest;
  const auto terminate = [&] { return b.lock_table().Reap(p, kShardTimeoutNs, rest).code(); };
  ASSERT_EQ(terminate(), StatusCode::kBusy);
  first.Release(r, machine.host());
  ASSERT_TRUE(IsAcquired(second, r));
  for (uint32_t i = 0; i < machine.segment().geometry().agents; ++i) {
    if (machine.segment().AgentAt(i).process == p) machine.segment().agent(i).owner.Set(0);
  }
  EXPECT_EQ(terminate(), StatusCode::kBusy);
  second.Release(r, machine.host());
  EXPECT_EQ(terminate(), StatusCode::kOk);
}

TEST_F(ReapProcess, FreesTheLocksInOtherShardsWhileAThreadIsInsideOne) {
  std::u16string other = u"n";
  const auto shard_of = [this](const std::u16string& name) {
    return NameOf(name).ShardIn(machine.segment());
  };
  while (shard_of(other) == shard_of(u"n")) other += u'x';
  const bool is_lower = shard_of(u"n") == 0;
  Request(a, is_lower ? u"n" : other);
  Request(a, is_lower ? other : u"n");
  Request(b, is_lower ? other : u"n");
  segment::LockWord word(machine.segment(), 0);
  ASSERT_TRUE(IsAcquired(word, r));
  machine.Kill(p);
  EXPECT_EQ(b.lock_table().Reap(p, kShardTimeoutNs).code(), StatusCode::kBusy);
  EXPECT_TRUE(IsHeld(3));
  word.Release(r, machine.host());
}

TEST_F(ReapProcess, RingsAnAgentWhoseEventsTheDeadHasNotRung) {
  LeaveUnrung(c);
  Terminate(p, b);
  EXPECT_TRUE(machine.host().WasRung(c.ref()));
}

TEST_F(ReapProcess, RingsAnAgentThatWatches) {
  machine.segment().agent(c.ref().index).watching.Set(c.ref().generation);
  Terminate(p, b);
  EXPECT_TRUE(machine.host().WasRung(c.ref()));
}

TEST_F(ReapProcess, LeavesAgentsInPeaceThatItDoesNotConcern) {
  Request(a, u"n");
  Request(c, u"m");
  c.FallAsleep();
  Terminate(p, b);
  EXPECT_FALSE(machine.host().WasRung(c.ref()));
  EXPECT_EQ(machine.segment().agent(c.ref().index).rescan.Get(), 0U);
}

}  // namespace
}  // namespace holdfast::test
