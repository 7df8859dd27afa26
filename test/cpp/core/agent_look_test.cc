// A thread's reads of its requests without a wait, and its work between two waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "core/agent.h"
#include "core/attachment.h"
#include "segment/lock_word.h"
#include "support/readable.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using core::RequestEvent;
using segment::ShardLock;

class AgentPoll : public testing::Test {
 protected:
  void SetUp() override {
    const core::AttachOptions options = SmallBucketIn(directory_);
    attachment_ = *core::Attachment::Attach(options);
    agent_ = *core::Agent::Open(options, {1, 1});
    other_ = *core::Agent::Open(options, {2, 2});
  }

  static segment::ResourceName NameOf(std::u16string_view name) {
    return {name.data(), static_cast<uint32_t>(name.size())};
  }
  static uint32_t Request(core::Agent& agent, std::u16string_view name) {
    core::RequestParams request;
    return agent.Request(NameOf(name), request)->id;
  }
  Result<ShardLock> Lock(std::u16string_view name) const {
    core::LockTable& lock_table = attachment_->lock_table();
    return ShardLock::TryEnter(lock_table.segment(), NameOf(name).ShardIn(lock_table.segment()),
                               lock_table.self(), lock_table.host());
  }

  const TestDirectory directory_;
  std::shared_ptr<core::Attachment> attachment_;
  std::unique_ptr<core::Agent> agent_;
  std::unique_ptr<core::Agent> other_;
  std::vector<RequestEvent> others_;
};

// A ringer that was about to mark a sleep of the last bearer must not mark a sleep of the next one.
TEST_F(AgentPoll, NumbersItsSleepsUnlikeTheLastBearerOfItsEntry) {
  const segment::AgentEntry& entry = attachment_->lock_table().segment().agent(other_->ref().index);
  std::set<uint32_t> numbers;
  for (uint32_t bearer = 1; bearer <= 20; ++bearer) {
    for (uint32_t sleep = 1; sleep <= 20; ++sleep) {
      ASSERT_TRUE(other_->GoToSleep());
      numbers.insert(entry.sleeping.Get());
      ASSERT_EQ(numbers.size(), (bearer - 1) * 20 + sleep);
      other_->WakeUp();
    }
    const uint16_t index = other_->ref().index;
    other_.reset();
    other_ = *core::Agent::Open(SmallBucketIn(directory_), {2, 2});
    ASSERT_EQ(other_->ref().index, index);
  }
}

TEST_F(AgentPoll, FindsNothingWhileNothingHasCome) {
  Request(*other_, u"n");
  const uint32_t id = Request(*agent_, u"n");
  EXPECT_FALSE(agent_->PollFor(id, others_).has_value());
  EXPECT_THAT(others_, testing::IsEmpty());
}

// The agent that is about to grant the request needs the shard.
TEST_F(AgentPoll, FindsAGrantWithoutEnteringTheShard) {
  const uint32_t held = Request(*other_, u"n");
  const uint32_t id = Request(*agent_, u"n");
  other_->End(held);
  const Result<ShardLock> lock = Lock(u"n");
  ASSERT_TRUE(lock.ok());
  const auto event = agent_->PollFor(id, others_);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind, RequestEvent::Kind::kGranted);
  EXPECT_EQ(event->id, id);
  EXPECT_NE(event->token, 0U);
}

TEST_F(AgentPoll, LeavesTheEventsOfOtherRequestsToTheCaller) {
  const uint32_t held = Request(*other_, u"n");
  Request(*other_, u"m");
  const uint32_t granted = Request(*agent_, u"n");
  const uint32_t id = Request(*agent_, u"m");
  other_->End(held);
  EXPECT_FALSE(agent_->PollFor(id, others_).has_value());
  ASSERT_EQ(others_.size(), 1U);
  EXPECT_EQ(others_[0].id, granted);
}

// Between the two sleeps the agent checks or polls its lock, without a system call.
TEST_F(AgentPoll, DrainsItsDoorbellBeforeItsNextSleep) {
  const uint32_t held = Request(*other_, u"n");
  Request(*agent_, u"n");
  ASSERT_TRUE(agent_->GoToSleep());
  other_->End(held);
  ASSERT_TRUE(IsReadable(agent_->doorbell_fd()));
  agent_->WakeUp();
  agent_->OnDoorbellRung();
  agent_->TakeEvents(others_);
  ASSERT_EQ(others_.size(), 1U);
  EXPECT_TRUE(IsReadable(agent_->doorbell_fd()));
  EXPECT_TRUE(agent_->GoToSleep());
  EXPECT_FALSE(IsReadable(agent_->doorbell_fd()));
}

// A ring without an event does not end the wait, and must not make the rest of it a loop.
TEST_F(AgentPoll, DrainsItsDoorbellAlsoInABlockingWait) {
  constexpr uint64_t kNs = 20'000'000;
  Request(*other_, u"n");
  const uint32_t id = Request(*agent_, u"n");
  attachment_->host().Ring(agent_->ref());
  EXPECT_FALSE(agent_->WaitFor(id, kNs, others_).has_value());
  EXPECT_FALSE(IsReadable(agent_->doorbell_fd()));
}

TEST_F(AgentPoll, KeepsARingThatComesAfterItHasAnnouncedItsSleep) {
  const uint32_t held = Request(*other_, u"n");
  Request(*agent_, u"n");
  agent_->OnDoorbellRung();
  ASSERT_TRUE(agent_->GoToSleep());
  other_->End(held);
  EXPECT_TRUE(IsReadable(agent_->doorbell_fd()));
}

// A thread that waits, again and again, never comes to the sweep of its loop.
TEST_F(AgentPoll, SweepsBetweenTwoWaitsIfItHasNotFor1Second) {
  const uint32_t id = Request(*agent_, u"n");
  ASSERT_NE(agent_->EndOrBias(id).slot, core::BiasedSlots::kNone);
  Request(*other_, u"n");  // closes the record, which a sweep ends
  agent_->SweepIfDue();
  EXPECT_FALSE(agent_->IsBiasedSlot(0));
}

}  // namespace
}  // namespace holdfast::test
