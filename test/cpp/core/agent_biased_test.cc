// The records that an agent of the real platform keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/agent.h"
#include "core/attachment.h"
#include "segment/invariants.h"
#include "segment/lock_word.h"
#include "segment/publication_list.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using core::BiasedSlots;
using core::Loss;
using core::RequestEvent;
using core::RequestOutcome;
using segment::CellState;
using segment::ShardLock;

class AgentBiased : public testing::Test, protected core::BiasObserver {
 protected:
  void SetUp() override {
    const core::AttachOptions options = SmallBucketIn(directory_);
    attachment_ = *core::Attachment::Attach(options);
    agent_ = *core::Agent::Open(options, {1, 1});
    other_ = *core::Agent::Open(options, {2, 2});
    agent_->SetBiasObserver(this);
  }
  void TearDown() override {
    agent_.reset();
    other_.reset();
    while (UsedCells() != 0) std::this_thread::yield();  // the worker may have to end the rest
    EXPECT_THAT(segment::CheckInvariants(Table()), testing::IsEmpty());
    attachment_.reset();
  }

  segment::Segment& Table() const { return attachment_->lock_table().segment(); }
  uint32_t UsedCells() const {
    uint32_t used = 0;
    for (uint32_t shard = 0; shard < Table().geometry().shards; ++shard) {
      // The count is 0 for a moment in a repair of the worker.
      const auto lock = ShardLock::TryEnter(Table(), shard, attachment_->lock_table().self(),
                                            attachment_->lock_table().host());
      const bool is_at_rest = lock.ok() && !lock->NeedsRepair();
      used += is_at_rest ? Table().shard(shard).used_count.Get() : 1;
    }
    return used;
  }
  static segment::ResourceName NameOf(std::u16string_view name) {
    return {name.data(), static_cast<uint32_t>(name.size())};
  }
  static Result<core::Agent::Answer> Request(core::Agent& agent, std::u16string_view name,
                                             core::RequestParams request = {}) {
    return agent.Request(NameOf(name), request);
  }
  // Takes away the record of a request of agent_, as far as any reader of the segment can see.
  void Corrupt(uint32_t id) const {
    const core::RecordRef record = agent_->RecordOf(id);
    segment::AsRequest(*Table().CellByNumber(record.cell - 1)).state.Set(CellState::kText);
    Table().shard(record.shard).dirty.Set(1);
  }
  // The slot of a name that is biased.
  uint32_t Keep(std::u16string_view name) {
    id_ = Request(*agent_, name)->id;
    return agent_->EndOrBias(id_).slot;
  }
  std::vector<RequestEvent> Events(core::Agent& agent) {
    std::vector<RequestEvent> events;
    agent.TakeEvents(events);
    // On a busy machine a shard may be locked for a second before it is let go.
    std::erase_if(events, [](const RequestEvent& event) {
      return event.kind == RequestEvent::Kind::kStalled;
    });
    return events;
  }
  // The worker may have to repair a shard first.
  RequestEvent NextEvent(core::Agent& agent) {
    for (;;) {
      const std::vector<RequestEvent> events = Events(agent);
      if (!events.empty()) return events.front();
      std::this_thread::yield();
    }
  }
  void Lock(std::u16string_view name) {
    Result<ShardLock> lock =
        ShardLock::TryEnter(Table(), NameOf(name).ShardIn(Table()),
                            attachment_->lock_table().self(), attachment_->lock_table().host());
    ASSERT_TRUE(lock.ok());
    lock_.emplace(*std::move(lock));
  }
  // The worker of the agent may be the one who works the publication list off.
  void Unlock() {
    lock_.reset();
    const uint32_t shard = NameOf(u"n").ShardIn(Table());
    do {
      attachment_->lock_table().CombineIfUnlocked(shard);
      std::this_thread::yield();
    } while (segment::HasOperations(Table().shard(shard)) ||
             segment::LockWord(Table(), shard).IsLocked());
  }
  // The record is still there when the observer is notified.
  void OnBiasedSlotFreed(uint32_t slot) override {
    freed_.push_back(slot);
    states_.push_back(watched_ == nullptr ? CellState::kFree : watched_->state.Get());
  }

  std::shared_ptr<core::Attachment> attachment_;
  std::unique_ptr<core::Agent> agent_;
  std::unique_ptr<core::Agent> other_;
  uint32_t id_ = 0;
  std::vector<uint32_t> freed_;
  std::vector<CellState> states_;
  segment::RequestCell* watched_ = nullptr;
  std::optional<ShardLock> lock_;

 private:
  const TestDirectory directory_;
};

TEST_F(AgentBiased, AcquiresAndReleases) {
  const uint32_t slot = Keep(u"n");
  ASSERT_NE(slot, BiasedSlots::kNone);
  const uint64_t token = agent_->AcquireBiased(slot, LockMode::kShared);
  EXPECT_NE(token, 0U);
  EXPECT_TRUE(*other_->IsLocked(NameOf(u"n"), 1));
  EXPECT_FALSE(agent_->ReleaseBiased(slot));  // the reader has closed it
  EXPECT_EQ(agent_->End(id_), Loss::kNone);
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
  EXPECT_FALSE(*other_->IsLocked(NameOf(u"n"), 1));
}

TEST_F(AgentBiased, IsNoWaitingRequest) {
  Keep(u"n");
  EXPECT_EQ(agent_->queued(), 0U);
  EXPECT_EQ(agent_->in_use(), 1U);
  EXPECT_TRUE(agent_->IsHeld(id_));
}

TEST_F(AgentBiased, GrantsTheNextOnceItIsEndedAfterARefusedRelease) {
  const uint32_t slot = Keep(u"n");
  ASSERT_NE(agent_->AcquireBiased(slot, LockMode::kExclusive), 0U);
  const auto theirs = Request(*other_, u"n");
  EXPECT_EQ(theirs->outcome, RequestOutcome::kQueued);
  EXPECT_FALSE(agent_->ReleaseBiased(slot));
  EXPECT_EQ(agent_->End(id_), Loss::kNone);
  const std::vector<RequestEvent> events = Events(*other_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kGranted);
}

TEST_F(AgentBiased, IsEndedByTheSecondSweepThatFindsItUnused) {
  const uint32_t slot = Keep(u"n");
  ASSERT_NE(agent_->AcquireBiased(slot, LockMode::kExclusive), 0U);
  ASSERT_TRUE(agent_->ReleaseBiased(slot));
  watched_ = &agent_->BiasedRecord(slot);
  const CellState biased = watched_->state.Get();
  agent_->Sweep();  // it was acquired since it was biased
  EXPECT_THAT(freed_, testing::IsEmpty());
  agent_->Sweep();
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
  EXPECT_THAT(states_, testing::ElementsAre(biased));
  EXPECT_EQ(agent_->in_use(), 0U);
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(AgentBiased, IsNotEndedByASweepWhileItIsTaken) {
  const uint32_t slot = Keep(u"n");
  ASSERT_NE(agent_->AcquireBiased(slot, LockMode::kExclusive), 0U);
  for (int i = 0; i < 3; ++i) agent_->Sweep();
  EXPECT_TRUE(agent_->ReleaseBiased(slot));
}

TEST_F(AgentBiased, IsEndedByASweepOnceItWasRevoked) {
  const uint32_t slot = Keep(u"n");
  const auto theirs = Request(*other_, u"n");
  EXPECT_EQ(theirs->outcome, RequestOutcome::kGranted);
  agent_->Sweep();
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
  other_->End(theirs->id);
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(AgentBiased, SurvivesARescan) {
  const uint32_t slot = Keep(u"n");
  Table().agent(agent_->ref().index).rescan.Exchange(1);
  EXPECT_THAT(Events(*agent_), testing::IsEmpty());
  EXPECT_NE(agent_->AcquireBiased(slot, LockMode::kExclusive), 0U);
  Table().agent(agent_->ref().index).rescan.Exchange(1);
  EXPECT_THAT(Events(*agent_), testing::IsEmpty());
  EXPECT_TRUE(agent_->ReleaseBiased(slot));
  EXPECT_THAT(freed_, testing::IsEmpty());
}

TEST_F(AgentBiased, IsLostIfCorruptionHasRemovedItsRecord) {
  const uint32_t slot = Keep(u"n");
  const uint32_t shard = NameOf(u"n").ShardIn(Table());
  agent_->BiasedRecord(slot).state.Set(CellState::kText);
  Table().shard(shard).dirty.Set(1);
  ASSERT_EQ(Request(*other_, u"n")->outcome, RequestOutcome::kQueued);
  EXPECT_EQ(NextEvent(*other_).kind, RequestEvent::Kind::kGranted);
  const RequestEvent event = NextEvent(*agent_);
  EXPECT_EQ(event.kind, RequestEvent::Kind::kCorrupted);
  EXPECT_EQ(event.id, id_);
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
}

// Other agents may have had the lock since: the loss must not be taken for an ordinary release.
TEST_F(AgentBiased, SaysAtTheEndThatCorruptionHadRemovedTheRecord) {
  id_ = Request(*agent_, u"n")->id;
  Corrupt(id_);
  EXPECT_EQ(agent_->End(id_), Loss::kUnknown);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kCorrupted);
  id_ = Request(*agent_, u"n")->id;
  Corrupt(id_);
  EXPECT_EQ(agent_->EndOrBias(id_).loss, Loss::kUnknown);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kCorrupted);
}

TEST_F(AgentBiased, SaysLaterThatCorruptionHadRemovedTheRecordIfTheShardWasBusy) {
  id_ = Request(*agent_, u"n")->id;
  Lock(u"n");
  Corrupt(id_);
  EXPECT_EQ(agent_->End(id_), Loss::kUnknown);
  Unlock();
  const std::vector<RequestEvent> events = Events(*agent_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kCorrupted);
}

// Whatever has found it: the lock is ended before the shard is repaired.
TEST_F(AgentBiased, HasReleasedALockAlsoWhereCorruptionIsFoundElsewhere) {
  for (const bool keeps : {false, true}) {
    const uint32_t id = Request(*agent_, u"n")->id;
    Table().shard(agent_->RecordOf(id).shard).dirty.Set(1);
    EXPECT_EQ(keeps ? agent_->EndOrBias(id).loss : agent_->End(id), Loss::kUnknown);
    EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kReleased);
  }
}

TEST_F(AgentBiased, HasReleasedALockAlsoIfItsNeighbourIsFoundCorruptedMeanwhile) {
  for (const bool keeps : {false, true}) {
    const uint32_t id = Request(*agent_, u"n")->id;
    const uint32_t next = Request(*other_, u"n")->id;
    const core::RecordRef record = other_->RecordOf(next);
    segment::AsRequest(*Table().CellByNumber(record.cell - 1)).state.Set(CellState::kText);
    EXPECT_EQ(keeps ? agent_->EndOrBias(id).loss : agent_->End(id), Loss::kUnknown);
    EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kReleased);
    other_->End(next);
    Events(*other_);
  }
}

TEST_F(AgentBiased, HasNothingToSayOfTheRecordOfARequestThatWaited) {
  const auto theirs = Request(*other_, u"n");
  id_ = Request(*agent_, u"n")->id;
  Corrupt(id_);
  EXPECT_EQ(agent_->End(id_), Loss::kNone);
  other_->End(theirs->id);
}

TEST_F(AgentBiased, IsNotifiedThatALockThatItTookWasStolen) {
  const uint32_t slot = Keep(u"n");
  ASSERT_NE(agent_->AcquireBiased(slot, LockMode::kExclusive), 0U);
  core::RequestParams steal;
  steal.steal = true;
  EXPECT_EQ(Request(*other_, u"n", steal)->outcome, RequestOutcome::kGranted);
  const std::vector<RequestEvent> events = Events(*agent_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kLost);
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
}

TEST_F(AgentBiased, ReleasesLaterWhatABusyShardDoesNotLetItEnd) {
  const uint32_t slot = Keep(u"n");
  ASSERT_NE(agent_->AcquireBiased(slot, LockMode::kExclusive), 0U);
  const auto theirs = Request(*other_, u"n");
  Lock(u"n");
  EXPECT_FALSE(agent_->ReleaseBiased(slot));
  EXPECT_EQ(agent_->End(id_), Loss::kUnknown);
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
  Unlock();
  const std::vector<RequestEvent> events = Events(*agent_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kReleased);
  ASSERT_EQ(Events(*other_).size(), 1U);
  other_->End(theirs->id);
}

TEST_F(AgentBiased, FreesLaterWhatABusyShardDoesNotLetItFree) {
  const uint32_t slot = Keep(u"n");
  Lock(u"n");
  agent_->Abandon(id_, core::EndReason::kReleased);
  EXPECT_THAT(freed_, testing::ElementsAre(slot));
  Unlock();
  EXPECT_THAT(Events(*agent_), testing::IsEmpty());
  EXPECT_EQ(agent_->in_use(), 0U);
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(AgentBiased, IsClosedForARequestThatABusyShardDoesNotLetIn) {
  const uint32_t slot = Keep(u"n");
  Lock(u"n");
  const auto theirs = Request(*other_, u"n");
  EXPECT_EQ(theirs->outcome, RequestOutcome::kQueued);
  EXPECT_EQ(agent_->AcquireBiased(slot, LockMode::kExclusive),
            0U);  // it would overtake that request
  Unlock();
  const std::vector<RequestEvent> events = Events(*other_);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kGranted);
}

TEST_F(AgentBiased, IsNotBiasedWhileTheShardIsBusy) {
  const uint32_t id = Request(*agent_, u"n")->id;
  Lock(u"n");
  const core::Agent::Released released = agent_->EndOrBias(id);
  EXPECT_EQ(released.loss, Loss::kUnknown);
  EXPECT_EQ(released.slot, BiasedSlots::kNone);
  Unlock();
  ASSERT_EQ(Events(*agent_).size(), 1U);
}

TEST_F(AgentBiased, IsOneOfAFew) {
  std::vector<uint32_t> slots;
  for (char16_t unit = u'a'; slots.size() < BiasedSlots::kMax; ++unit) {
    slots.push_back(Keep(std::u16string(1, unit)));
  }
  EXPECT_THAT(slots, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(Keep(u"z"), BiasedSlots::kNone);
  EXPECT_FALSE(agent_->IsHeld(id_));
}

TEST_F(AgentBiased, IsEndedForARequestForWhichTheTableIsTooFull) {
  Keep(u"n");
  const uint32_t before = UsedCells();
  std::u16string name(40, u'x');
  std::vector<uint32_t> held;
  for (;; ++name[0]) {
    const auto answer = Request(*agent_, name);
    if (!answer.ok()) break;
    held.push_back(answer->id);
    if (!freed_.empty()) break;
  }
  EXPECT_EQ(before, 2U);
  EXPECT_THAT(freed_, testing::ElementsAre(0));
  for (const uint32_t id : held) agent_->End(id);
}

}  // namespace
}  // namespace holdfast::test
