// Records that corruption has made name an agent that never requested them: their names stay free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/agent.h"
#include "core/attachment.h"
#include "core/shard_timeouts.h"
#include "segment/lock_word.h"
#include "segment/shared.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using core::RequestEvent;
using core::RequestOutcome;
using segment::AgentRef;

constexpr uint32_t kNoSuchId = 7;
constexpr std::u16string_view kPlanted = u"m";

class UnknownRecord : public testing::Test {
 protected:
  void SetUp() override {
    attachment_ = *core::Attachment::Attach(SmallBucketIn(directory_));
    waiter_ = Open();
  }

  std::unique_ptr<core::Agent> Open() const {
    return *core::Agent::Open(SmallBucketIn(directory_), {1, 1});
  }
  static segment::ResourceName Name(std::u16string_view name = kPlanted) {
    return {name.data(), static_cast<uint32_t>(name.size())};
  }
  segment::Segment& Table() const { return attachment_->lock_table().segment(); }
  // A held lock in the name of an agent, which has no such request.
  core::RecordRef Plant(const AgentRef& agent, std::u16string_view name = kPlanted) const {
    core::RequestParams request;
    request.request_id = kNoSuchId;
    const auto reply = attachment_->lock_table().Request(agent, Name(name), request, 0);
    EXPECT_TRUE(reply.ok() && reply->outcome == RequestOutcome::kGranted);
    return reply->record;
  }
  segment::RequestCell& CellOf(const core::RecordRef& record) const {
    return segment::AsRequest(*Table().CellAt(record.shard, record.cell));
  }
  static core::Agent::Answer Request(core::Agent& agent, std::u16string_view name = kPlanted) {
    core::RequestParams request;
    return *agent.Request(Name(name), request);
  }
  // Repairs the shard of the planted name, which makes every agent rescan.
  void Repair() const {
    const uint32_t shard = Name().ShardIn(Table());
    Table().shard(shard).dirty.Set(1);
    core::WakeQueue wake_queue(Table(), attachment_->host());
    ASSERT_TRUE(attachment_->lock_table().Enter(shard, wake_queue, core::kBriefNs).ok());
  }
  static std::vector<RequestEvent> EventsOf(core::Agent& agent) {
    std::vector<RequestEvent> events;
    while (agent.HasEvents()) agent.TakeEvents(events);
    return events;
  }
  // Waits until a request is decided.
  static bool IsGranted(core::Agent& agent, uint32_t id) {
    constexpr uint64_t kForEver = UINT64_MAX / 4;
    std::vector<RequestEvent> others;
    (void)agent.WaitFor(id, kForEver, others);
    return agent.IsHeld(id);
  }

  const TestDirectory directory_;
  std::shared_ptr<core::Attachment> attachment_;
  std::unique_ptr<core::Agent> waiter_;
  std::vector<RequestEvent> ignored_;
};

TEST_F(UnknownRecord, OfAnAgentThatOpensLaterIsEndedAtItsFirstTurn) {
  AgentRef next = Open()->ref();  // the next agent gets the same entry
  ++next.generation;
  Plant(next);
  const core::Agent::Answer waiting = Request(*waiter_);
  ASSERT_EQ(waiting.outcome, RequestOutcome::kQueued);
  const std::unique_ptr<core::Agent> named = Open();
  ASSERT_EQ(named->ref(), next);
  EventsOf(*named);
  EXPECT_TRUE(IsGranted(*waiter_, waiting.id));
}

TEST_F(UnknownRecord, OfALivingAgentIsEndedAfterARepair) {
  const std::unique_ptr<core::Agent> named = Open();
  Plant(named->ref());
  const core::Agent::Answer waiting = Request(*waiter_);
  ASSERT_EQ(waiting.outcome, RequestOutcome::kQueued);
  Repair();
  EventsOf(*named);
  EXPECT_TRUE(IsGranted(*waiter_, waiting.id));
}

TEST_F(UnknownRecord, OfItselfIsEndedWhenAnAgentWaitsForIt) {
  Plant(waiter_->ref());
  const core::Agent::Answer waiting = Request(*waiter_);
  ASSERT_EQ(waiting.outcome, RequestOutcome::kQueued);
  Repair();
  EXPECT_TRUE(IsGranted(*waiter_, waiting.id));
}

TEST_F(UnknownRecord, IsFoundByTheSweepOfAnAgentWhoseRequestHasAnotherNumberNow) {
  const core::Agent::Answer held = Request(*waiter_);
  ASSERT_EQ(held.outcome, RequestOutcome::kGranted);
  CellOf(waiter_->RecordOf(held.id)).request_id.Set(kNoSuchId);
  waiter_->Sweep();
  const std::vector<RequestEvent> events = EventsOf(*waiter_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kCorrupted);
  EXPECT_EQ(Request(*waiter_).outcome, RequestOutcome::kGranted);
}

// A release that waits for its outcome is no unknown record: the rescan leaves its lock to it.
TEST_F(UnknownRecord, IsNotTheRecordOfAReleaseThatIsUnderWay) {
  const core::Agent::Answer held = Request(*waiter_);
  {
    const auto lock = segment::ShardLock::TryEnter(
        Table(), Name().ShardIn(Table()), attachment_->lock_table().self(), attachment_->host());
    ASSERT_TRUE(lock.ok());
    ASSERT_EQ(waiter_->End(held.id), core::Loss::kUnknown);
    Table().agent(waiter_->ref().index).rescan.Exchange(1);
  }
  std::vector<RequestEvent> events;
  while (events.empty()) waiter_->TakeEvents(events);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kReleased);
}

// The first record of the list names a later agent: the rest of the list is the closing agent's.
TEST_F(UnknownRecord, DoesNotKeepTheLocksOfAnAgentThatCloses) {
  std::unique_ptr<core::Agent> closing = Open();
  ASSERT_EQ(Request(*closing).outcome, RequestOutcome::kGranted);
  const core::RecordRef later = closing->RecordOf(Request(*closing, kPlanted).id);
  CellOf(later).agent_generation.Set(closing->ref().generation + 1);
  closing.reset();
  // The worker repairs, before the request or after it.
  const core::Agent::Answer waiting = Request(*waiter_);
  EXPECT_TRUE(waiting.outcome == RequestOutcome::kGranted || IsGranted(*waiter_, waiting.id));
}

// The event loop reads each of them, and the background thread ends them.
TEST_F(UnknownRecord, CostsItsAgentOneStore) {
  constexpr uint32_t kRecords = 200;
  const std::unique_ptr<core::Agent> named = Open();
  for (uint32_t i = 0; i < kRecords; ++i) Plant(named->ref(), u"m" + std::u16string(i, u'm'));
  Table().agent(named->ref().index).rescan.Exchange(1);
  uint32_t stores = 0;
  segment::store_observer = {[](void* count) { ++*static_cast<uint32_t*>(count); }, &stores};
  named->TakeEvents(ignored_);
  segment::store_observer = {};
  EXPECT_LT(stores, 5 * kRecords);
  const core::Agent::Answer waiting = Request(*waiter_);
  EXPECT_TRUE(waiting.outcome == RequestOutcome::kGranted || IsGranted(*waiter_, waiting.id));
}

}  // namespace
}  // namespace holdfast::test
