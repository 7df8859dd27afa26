// The processes whose lives a watching agent follows, although no agent waits.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/agent.h"
#include "core/attachment.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

class AgentWatches : public testing::Test {
 protected:
  void SetUp() override {
    const core::AttachOptions options = SmallBucketIn(directory_);
    attachment_ = *core::Attachment::Attach(options);
    watcher_ = *core::Agent::Open(options, {1, 1});
    other_ = *core::Agent::Open(options, {2, 2});
  }

  segment::Segment& Table() const { return attachment_->lock_table().segment(); }

  // A process has come, and has died, and no agent was notified of either.
  void LetOneComeAndDie() const { Table().process(kSlot).generation.Publish(1); }
  bool IsItCleanedUp() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const segment::ProcessEntry& entry = Table().process(kSlot);
    while (entry.cleaned_generation.Acquire() == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return entry.cleaned_generation.Acquire() == 1;
  }
  void MakeEvents(uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i) {
      core::RequestParams request;
      const auto answer = other_->Request({u"n", 1}, request);
      ASSERT_TRUE(answer.ok());
      other_->End(answer->id);
    }
  }

  static constexpr uint32_t kSlot = 1;
  const TestDirectory directory_;
  std::shared_ptr<core::Attachment> attachment_;
  std::unique_ptr<core::Agent> watcher_;
  std::unique_ptr<core::Agent> other_;
};

TEST_F(AgentWatches, FollowAgentsThatOnlyLostEventsHaveNamed) {
  const Result<uint32_t> id = watcher_->OpenWatch(std::nullopt);
  ASSERT_TRUE(id.ok());
  LetOneComeAndDie();
  MakeEvents(Table().geometry().watch_ring_slots);  // two each: more than the ring has room for
  std::vector<core::WatchedEvent> events;
  ASSERT_TRUE(watcher_->ReadWatch(*id, 1, events).ok());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_GT(events[0].lost, 0U);
  EXPECT_TRUE(IsItCleanedUp());
}

TEST_F(AgentWatches, OfOneNameDoNotKeepALaterOneFromFollowingNewAgents) {
  ASSERT_TRUE(watcher_->OpenWatch(u"another").ok());
  LetOneComeAndDie();
  ASSERT_TRUE(watcher_->OpenWatch(std::nullopt).ok());
  EXPECT_TRUE(IsItCleanedUp());
}

TEST_F(AgentWatches, FollowAgentsThatCameDuringAPause) {
  const Result<uint32_t> id = watcher_->OpenWatch(std::nullopt);
  ASSERT_TRUE(watcher_->OpenWatch(u"another").ok());  // is open meanwhile
  watcher_->SetWatchPaused(*id, true);
  LetOneComeAndDie();
  watcher_->SetWatchPaused(*id, false);
  EXPECT_TRUE(IsItCleanedUp());
}

}  // namespace
}  // namespace holdfast::test
