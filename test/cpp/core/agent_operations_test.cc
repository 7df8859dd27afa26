// The use of its operation cells by an agent of the real platform.
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/agent.h"
#include "core/attachment.h"
#include "core/combiner.h"
#include "core/deferred_entry.h"
#include "core/extents.h"
#include "core/shard_timeouts.h"
#include "segment/lock_word.h"
#include "segment/publication_list.h"
#include "segment/shared.h"
#include "support/fake_host.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using segment::OperationState;
using segment::ShardLock;

constexpr std::u16string_view kRequestedName = u"requested";

class AgentOperations : public testing::Test {
 protected:
  void SetUp() override {
    const core::AttachOptions options = SmallBucketIn(directory_);
    attachment_ = *core::Attachment::Attach(options);
    agent_ = *core::Agent::Open(options, {1, 1});
  }
  void TearDown() override {
    segment::store_observer = {};
    Unlock();
    agent_.reset();
    attachment_.reset();
  }

  segment::Segment& Table() const { return attachment_->lock_table().segment(); }
  uint32_t Shard() const { return Name().ShardIn(Table()); }
  static segment::ResourceName Name() { return {kRequestedName.data(), kRequestedName.size()}; }
  segment::CellId Head() const { return Table().shard(Shard()).publications.Get(); }

  void Lock() {
    Result<ShardLock> lock = ShardLock::TryEnter(Table(), Shard(), attachment_->lock_table().self(),
                                                 attachment_->lock_table().host());
    ASSERT_TRUE(lock.ok());
    lock_.emplace(*std::move(lock));
  }
  void Unlock() { lock_.reset(); }

  uint32_t ClaimedExtents() const {
    uint32_t claimed = 0;
    for (uint32_t extent = 0; extent < Table().geometry().extents; ++extent) {
      if ((Table().extent_owner(extent).Get() & segment::kExtentClaimed) != 0) ++claimed;
    }
    return claimed;
  }

  // Whether an operation is pending, and not yet in the publication list.
  bool IsOneBetween() const {
    for (uint32_t extent = 0; extent < Table().geometry().extents; ++extent) {
      for (uint32_t i = 0; i < segment::OperationsPerExtent(Table().geometry()); ++i) {
        const segment::OperationCell* const operation =
            segment::OperationAt(Table(), Table().FirstCell(extent) + i);
        if (operation != nullptr && operation->state.Get() == OperationState::kPending) {
          return Head() == segment::kNoCell;
        }
      }
    }
    return false;
  }

  // The owner of the shard dies, another process repairs, and a third one is inside then.
  void RepairBetween() {
    Unlock();
    Table().shard(Shard()).dirty.Set(1);
    {
      core::WakeQueue wake_queue(Table(), attachment_->lock_table().host());
      ASSERT_TRUE(attachment_->lock_table().Enter(Shard(), wake_queue, core::kBriefNs).ok());
    }
    Lock();
  }

  // Puts a request in; a repair comes between its being pending and its being in the publication
  // list.
  void PublishAroundARepair() {
    Lock();
    segment::store_observer = {[](void* self) {
                                 auto& test = *static_cast<AgentOperations*>(self);
                                 if (!test.IsOneBetween()) return;
                                 segment::store_observer = {};
                                 test.RepairBetween();
                               },
                               this};
    core::RequestParams request;
    const auto answer = agent_->Request(Name(), request);
    segment::store_observer = {};
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->outcome, core::RequestOutcome::kQueued);
  }

  core::Agent::Answer Request(core::Agent& agent) {
    core::RequestParams request;
    const auto answer = agent.Request(Name(), request);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? *answer : core::Agent::Answer{core::RequestOutcome::kMissed, 0, 0};
  }
  core::RequestOutcome Request() { return Request(*agent_).outcome; }
  // A process that was inside executes the publication list, or its ends alone, and dies before it
  // rings any agent.
  void ExecuteAndDie(bool ends_only = false) {
    const segment::ProcessRef dead{1, 1};
    Table().process(dead.slot).generation.Set(dead.generation);
    const segment::ShardView view(Table(), Shard());
    FakeHost silent(Table());
    silent.AllowRings(false);
    core::WakeQueue wake_queue(Table(), silent);
    core::Combiner combiner(view, wake_queue, dead);
    segment::PublicationReader publications(view);
    segment::CellId id = segment::kNoCell;
    while (segment::OperationCell* const operation = publications.Next(id)) {
      if (ends_only && operation->kind.Get() != segment::OperationKind::kEnd) continue;
      combiner.Execute(id, *operation, core::Combiner::Occasion::kPublished);
    }
    Table().agent(agent_->ref().index).answered.Set(0);
  }
  std::vector<core::RequestEvent> Answers() {
    Table().agent(agent_->ref().index).answered.Set(1);
    std::vector<core::RequestEvent> events;
    agent_->TakeEvents(events);
    return events;
  }
  void ExecuteAndDieOnceItIsPublished() {
    segment::store_observer = {[](void* self) {
                                 auto& test = *static_cast<AgentOperations*>(self);
                                 if (test.Head() == segment::kNoCell) return;
                                 segment::store_observer = {};
                                 test.ExecuteAndDie();
                               },
                               this};
  }

  std::shared_ptr<core::Attachment> attachment_;
  std::unique_ptr<core::Agent> agent_;
  const TestDirectory directory_;

 private:
  std::optional<ShardLock> lock_;
};

TEST_F(AgentOperations, KeepTheirCellsAfterTheAnswerUntilTheyAreOutOfThePublicationList) {
  PublishAroundARepair();
  const segment::CellId id = Head();
  ASSERT_NE(id, segment::kNoCell);
  std::vector<core::RequestEvent> events;
  agent_->TakeEvents(events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, core::RequestEvent::Kind::kGranted);

  const segment::OperationCell* const operation = segment::OperationAt(Table(), id);
  ASSERT_NE(operation, nullptr);
  EXPECT_EQ(operation->state.Get(), OperationState::kExecuted);
  Unlock();
}

// The shard was busy again when the answer was read: the worker enters once it is free.
TEST_F(AgentOperations, FreeTheirCellsOnceTheyAreOutOfThePublicationList) {
  PublishAroundARepair();
  std::vector<core::RequestEvent> events;
  agent_->TakeEvents(events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(ClaimedExtents(), 1U);
  Unlock();
  while (ClaimedExtents() > 0) agent_->TakeEvents(events);
}

// Another thread has entered before the worker and unlinked the operation: its cell may be a record
// by the time at which the worker enters.
TEST_F(AgentOperations, AreNotWrittenByTheWorkerThatEntersLater) {
  PublishAroundARepair();
  const segment::CellId id = Head();
  ASSERT_NE(id, segment::kNoCell);
  std::vector<core::RequestEvent> events;
  agent_->TakeEvents(events);
  ASSERT_EQ(events.size(), 1U);

  Table().shard(Shard()).publications.Exchange(segment::kNoCell);
  segment::OperationAt(Table(), id)->state.Publish(OperationState::kDone);
  segment::AgentEntry& entry = Table().agent(agent_->ref().index);
  entry.answered.Exchange(1);
  agent_->TakeEvents(events);
  segment::AnyCell& cell = *Table().CellByNumber(id - 1);
  cell.state.Publish(segment::CellState::kWaiting);
  Unlock();
  while (entry.answered.LoadSeqCst() == 0) std::this_thread::yield();  // the worker has entered
  EXPECT_EQ(cell.state.Get(), segment::CellState::kWaiting);
}

TEST_F(AgentOperations, FreeTheirCellsWhenTheAnswerOfARepairIsRead) {
  PublishAroundARepair();
  Unlock();
  while (segment::LockWord(Table(), Shard()).IsLocked()) std::this_thread::yield();  // a visit
  std::vector<core::RequestEvent> events;
  while (events.empty()) agent_->TakeEvents(events);
  ASSERT_EQ(events[0].kind, core::RequestEvent::Kind::kGranted);
  while (ClaimedExtents() > 0) agent_->TakeEvents(events);
}

TEST_F(AgentOperations, OfAllAgentsOfAProcessShareAnExtent) {
  std::vector<std::unique_ptr<core::Agent>> agents;
  for (uint64_t i = 0; i < 4; ++i) {
    agents.push_back(*core::Agent::Open(SmallBucketIn(directory_), {2, i}));
  }
  Lock();
  for (const auto& agent : agents)
    ASSERT_EQ(Request(*agent).outcome, core::RequestOutcome::kQueued);
  EXPECT_EQ(ClaimedExtents(), 1U);
  Unlock();
}

// The count is taken when the operation is executed, in the order of the publication list.
TEST_F(AgentOperations, CarryMaxPending) {
  Lock();
  std::vector<uint32_t> ids;
  for (const uint32_t max_pending : {core::kAnyNumber, 1U, 1U}) {
    core::RequestParams request;
    request.max_pending = max_pending;
    const auto answer = agent_->Request(Name(), request);
    ASSERT_TRUE(answer.ok());
    ids.push_back(answer->id);
  }
  Unlock();
  std::vector<core::RequestEvent> events;
  while (events.size() < 2) agent_->TakeEvents(events);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].id, ids[0]);
  EXPECT_EQ(events[0].kind, core::RequestEvent::Kind::kGranted);
  EXPECT_EQ(events[1].id, ids[2]);
  EXPECT_EQ(events[1].kind, core::RequestEvent::Kind::kMissed);
}

class Priorities : public AgentOperations {
 protected:
  uint32_t Request(Priority priority) {
    core::RequestParams request;
    request.priority = priority;
    return agent_->Request(Name(), request)->id;
  }
  // Returns when they wait in this order.
  void AwaitOrder(const std::vector<uint32_t>& ids) {
    for (std::vector<core::RequestEvent> events;; agent_->TakeEvents(events)) {
      std::vector<uint32_t> waiting;
      const Result<core::Snapshot> snapshot = agent_->TakeSnapshot(core::kWorkerTimeoutNs);
      if (!snapshot.ok()) continue;
      for (const core::LockInfo& info : snapshot->pending) waiting.push_back(info.request_id);
      if (waiting == ids) return;
    }
  }
};

TEST_F(Priorities, AreInOperations) {
  Request(Priority::kUserVisible);
  Lock();
  const uint32_t low = Request(Priority::kBackground);
  const uint32_t plain = Request(Priority::kUserVisible);
  const uint32_t urgent = Request(Priority::kUserBlocking);
  Unlock();
  AwaitOrder({urgent, plain, low});
}

TEST_F(Priorities, ThatChangeWhileTheShardIsLockedChangeSoon) {
  Request(Priority::kUserVisible);
  const uint32_t low = Request(Priority::kBackground);
  const uint32_t plain = Request(Priority::kUserVisible);
  Lock();
  agent_->ChangePriority(low, Priority::kUserBlocking);
  agent_->ChangePriority(plain, Priority::kBackground);
  agent_->ChangePriority(plain, Priority::kUserVisible);
  Unlock();
  AwaitOrder({low, plain});
}

TEST_F(Priorities, OfRequestsThatAreNotExecutedYetChangeSoon) {
  Request(Priority::kUserVisible);
  Lock();
  const uint32_t low = Request(Priority::kBackground);
  const uint32_t plain = Request(Priority::kUserVisible);
  agent_->ChangePriority(low, Priority::kUserBlocking);
  Unlock();
  AwaitOrder({low, plain});
}

// A busy shard fills no table for the others.
TEST_F(AgentOperations, LeaveTheLastExtentsToTheShards) {
  core::ExtentGrowth growth(Table(), attachment_->host(), attachment_->lock_table().self());
  const uint32_t cells = Table().geometry().cells_per_extent;
  const uint32_t reserve = Table().geometry().extents / 4;
  ASSERT_TRUE(growth.Claim((Table().geometry().extents - reserve) * cells).ok());
  Lock();
  core::RequestParams request;
  EXPECT_EQ(agent_->Request(Name(), request).status().code(), StatusCode::kSegmentFull);
  std::u16string other = u"a";
  const auto shard_of = [&] {
    return segment::ResourceName(other.data(), static_cast<uint32_t>(other.size()))
        .ShardIn(Table());
  };
  while (shard_of() == Shard()) ++other[0];
  const auto answer = agent_->Request(
      segment::ResourceName(other.data(), static_cast<uint32_t>(other.size())), request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->outcome, core::RequestOutcome::kGranted);
  Unlock();
}

TEST_F(AgentOperations, AreAnsweredThoughTheCombinerDiesAtOnceBeforeItAnswers) {
  Lock();
  ExecuteAndDieOnceItIsPublished();
  EXPECT_EQ(Request(), core::RequestOutcome::kQueued);
  ASSERT_TRUE(agent_->HasEvents());
  std::vector<core::RequestEvent> events;
  agent_->TakeEvents(events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, core::RequestEvent::Kind::kGranted);
  Unlock();
}

// The notice to the holder is in its list, and nothing rings it: its process watches the combiner.
TEST_F(AgentOperations, OfARequestThatWaitsRingTheHolderThoughTheCombinerDies) {
  const auto holder = *core::Agent::Open(SmallBucketIn(directory_), {3, 3});
  const core::Agent::Answer held = Request(*holder);
  ASSERT_EQ(held.outcome, core::RequestOutcome::kGranted);
  ASSERT_EQ(holder->WatchContention(held.id), segment::Contention::kNone);
  Lock();
  ASSERT_EQ(Request(), core::RequestOutcome::kQueued);
  ASSERT_TRUE(holder->GoToSleep());
  ExecuteAndDie();
  EXPECT_TRUE(Answers().empty());
  pollfd doorbell{holder->doorbell_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&doorbell, 1, -1), 1);
  Unlock();
}

// Corruption hides whose it is, so it is marked without being executed.
TEST_F(AgentOperations, DoNotTakeTheAnswerToAnEarlierOneForTheirs) {
  Lock();
  ASSERT_EQ(Request(), core::RequestOutcome::kQueued);
  const segment::CellId id = Head();
  ExecuteAndDie();
  const std::vector<core::RequestEvent> granted = Answers();
  ASSERT_EQ(granted.size(), 1U);
  ASSERT_EQ(granted[0].kind, core::RequestEvent::Kind::kGranted);
  agent_->End(granted[0].id);
  ExecuteAndDie();
  ASSERT_EQ(Answers().size(), 1U);

  ASSERT_EQ(Request(), core::RequestOutcome::kQueued);
  ASSERT_EQ(Head(), id);  // the same room
  segment::OperationAt(Table(), id)->agent_generation.Set(0);
  ExecuteAndDie();
  const std::vector<core::RequestEvent> events = Answers();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, core::RequestEvent::Kind::kFailed);
  Unlock();
}

// One agent releases a lock that another one waits for; the combiner dies before it rings.
class EndInThePublicationList : public AgentOperations {
 protected:
  void SetUp() override {
    AgentOperations::SetUp();
    waiter_ = *core::Agent::Open(SmallBucketIn(directory_), {2, 2});
    held_ = Request(*agent_);
    ASSERT_EQ(held_.outcome, core::RequestOutcome::kGranted);
    ASSERT_EQ(Request(*waiter_).outcome, core::RequestOutcome::kQueued);
    ASSERT_TRUE(waiter_->GoToSleep());
    Lock();
  }
  void TearDown() override {
    waiter_.reset();
    AgentOperations::TearDown();
  }

  void End() { EXPECT_EQ(agent_->End(held_.id), core::Loss::kUnknown); }
  bool IsWaiterRung() {
    const segment::AgentEntry& entry = Table().agent(waiter_->ref().index);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto is_rung = [&] { return (entry.sleeping.Get() & segment::kRung) != 0; };
    while (!is_rung() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return is_rung();
  }

  std::unique_ptr<core::Agent> waiter_;

 private:
  core::Agent::Answer held_{};
};

TEST_F(EndInThePublicationList, IsFollowedByTheDeferredEntryThoughTheLoopOfItsAgentIsBlocked) {
  End();
  ExecuteAndDie();
  EXPECT_TRUE(IsWaiterRung());  // also while another process is inside
  Unlock();
}

TEST_F(EndInThePublicationList, IsFollowedByADeferredEntryThatHadBegunBefore) {
  ASSERT_EQ(Request(*agent_).outcome, core::RequestOutcome::kQueued);
  End();
  ExecuteAndDie(true);  // the request keeps the deferred entry going
  EXPECT_TRUE(IsWaiterRung());
  Unlock();
}

TEST_F(EndInThePublicationList, IsFollowedByItsAgentWhereItIsExecutedAtOnce) {
  ExecuteAndDieOnceItIsPublished();
  End();
  EXPECT_TRUE(IsWaiterRung());
  Unlock();
}

TEST_F(EndInThePublicationList, IsFollowedThoughItsAgentIsClosedMeanwhile) {
  End();
  agent_->Close(core::EndReason::kReleased);
  ExecuteAndDie();
  Unlock();
  EXPECT_TRUE(IsWaiterRung());
}

TEST_F(AgentOperations, AreAnsweredThoughAnEarlierDeferredEntryIsOverAndTheCombinerDies) {
  Lock();
  EXPECT_EQ(Request(), core::RequestOutcome::kQueued);
  const segment::OperationCell& first = *segment::OperationAt(Table(), Head());
  Unlock();
  while (first.state.Acquire() == OperationState::kPending) std::this_thread::yield();
  while (segment::LockWord(Table(), Shard()).IsLocked()) std::this_thread::yield();
  Lock();
  EXPECT_EQ(Request(), core::RequestOutcome::kQueued);
  ExecuteAndDie();
  std::vector<core::RequestEvent> events;
  while (events.empty()) {
    while (!agent_->HasEvents()) std::this_thread::yield();  // the deferred entry is over
    agent_->TakeEvents(events);
    std::erase_if(events, [](const core::RequestEvent& event) {
      return event.kind == core::RequestEvent::Kind::kStalled;  // on a busy machine
    });
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, core::RequestEvent::Kind::kGranted);
  agent_->End(events[0].id);
  Unlock();
}

// The visit's own operation was executed, and its shard is locked again. The cell has an operation
// of another shard by now, which has the same order there.
TEST_F(AgentOperations, AreNotTakenForThoseOfAnotherShardByADeferredEntry) {
  Lock();
  ASSERT_EQ(Request(), core::RequestOutcome::kQueued);
  const segment::CellId id = Head();
  const uint64_t here = segment::OperationAt(Table(), id)->number.Get();
  const uint64_t order = here - segment::OperationNumber(Shard(), 0);
  const uint32_t other = (Shard() + 1) % Table().geometry().shards;
  const uint64_t number = segment::OperationNumber(other, order);
  const auto locked_again = ShardLock::TryEnter(Table(), other, attachment_->lock_table().self(),
                                                attachment_->lock_table().host());
  ASSERT_TRUE(locked_again.ok());
  core::DeferredEntry visit(*attachment_, agent_->ref(), std::make_shared<core::WorkerReports>(),
                            other, {id, number});
  ASSERT_EQ(visit(), StatusCode::kBusy);  // the first call only waits
  EXPECT_EQ(visit(), StatusCode::kOk);
}

}  // namespace
}  // namespace holdfast::test
