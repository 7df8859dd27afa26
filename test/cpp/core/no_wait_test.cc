// A thread that may not wait neither repairs nor reaps: the background worker does. Over the real
// platform.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/agent.h"
#include "core/attachment.h"
#include "core/shard_timeouts.h"
#include "core/wait_for_graph.h"
#include "segment/lock_word.h"
#include "segment/shared.h"
#include "support/small_bucket.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using core::Agent;
using core::RequestEvent;
using core::RequestOutcome;
using segment::ProcessRef;

constexpr std::u16string_view kName = u"n";
constexpr int kFew = 2;
constexpr int kMany = 600;

class NoWait : public testing::Test {
 protected:
  void SetUp() override {
    attachment_ = *core::Attachment::Attach(Options());
    agent_ = Open();
  }
  void TearDown() override { segment::store_observer = {}; }

  core::AttachOptions Options() const { return SmallBucketIn(directory_); }
  std::unique_ptr<Agent> Open() const { return *Agent::Open(Options(), {1, 1}); }
  segment::Segment& Table() const { return attachment_->lock_table().segment(); }
  static segment::ResourceName Name() { return {kName.data(), kName.size()}; }
  uint32_t Shard() const { return Name().ShardIn(Table()); }
  static Agent::Answer Request(Agent& agent, core::RequestParams request = {}) {
    return *agent.Request(Name(), request);
  }
  static RequestEvent NextEvent(Agent& agent) {
    std::vector<RequestEvent> events;
    while (events.empty()) {
      agent.TakeEvents(events);
      std::this_thread::yield();
    }
    return events.front();
  }
  // The whole life of another process.
  static void InAProcess(const std::function<void()>& act) {
    const pid_t child = fork();
    if (child == 0) {
      act();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  // Makes requests for the name, and dies.
  void DieWith(int requests, const core::RequestParams& request = {}) const {
    InAProcess([&] {
      const std::unique_ptr<Agent> agent = OpenAsAnother();
      for (int i = 0; i < requests; ++i) Request(*agent, request);
      _exit(0);
    });
  }
  void DieInside() const {
    InAProcess([&] {
      const std::unique_ptr<Agent> agent = OpenAsAnother();
      segment::Segment table = agent->segment();
      segment::LockWord(table, Shard()).TryAcquire(agent->ref().process);
      _exit(0);
    });
  }
  // In a child: what it has from its parent is the parent's.
  std::unique_ptr<Agent> OpenAsAnother() const {
    Result<std::unique_ptr<Agent>> agent = Agent::Open(Options(), {2, 2});
    if (!agent.ok()) _exit(1);
    return *std::move(agent);
  }
  bool NeedsRepair() const {
    const segment::LockWord word(Table(), Shard());
    return Table().shard(Shard()).dirty.Get() != 0 || word.IsLocked();
  }
  void AwaitRepair() const {
    while (NeedsRepair()) std::this_thread::yield();
  }
  // The stores of this thread to the segment.
  static int StoresOf(const std::function<void()>& act) {
    int stores = 0;
    segment::store_observer = {[](void* count) { ++*static_cast<int*>(count); }, &stores};
    act();
    segment::store_observer = {};
    return stores;
  }

  const TestDirectory directory_;
  std::shared_ptr<core::Attachment> attachment_;
  std::unique_ptr<Agent> agent_;
};

enum class Breakage { kDeathInside, kCorruption };

// One bucket for each number of waiting requests.
class StoresAfterADeath : public testing::TestWithParam<Breakage> {
 protected:
  class Bucket : public NoWait {
   public:
    explicit Bucket(int waiting) {
      SetUp();
      held_ = Request(*agent_);
      for (int i = 0; i < waiting; ++i) Request(*agent_);
      if (GetParam() == Breakage::kDeathInside) DieInside();
      if (GetParam() == Breakage::kCorruption) Table().shard(Shard()).dirty.Set(1);
    }
    void TestBody() override {}
    int StoresOfARequest() {
      return StoresOf([this] { EXPECT_EQ(Request(*agent_).outcome, RequestOutcome::kQueued); });
    }
    int StoresOfARelease() {
      return StoresOf([this] { EXPECT_EQ(agent_->End(held_.id), core::Loss::kUnknown); });
    }

   private:
    Agent::Answer held_{};
  };
};

TEST_P(StoresAfterADeath, OfARequestAreNotMoreIfManyWait) {
  EXPECT_EQ(Bucket(kFew).StoresOfARequest(), Bucket(kMany).StoresOfARequest());
}

TEST_P(StoresAfterADeath, OfAReleaseAreNotMoreIfManyWait) {
  EXPECT_EQ(Bucket(kFew).StoresOfARelease(), Bucket(kMany).StoresOfARelease());
}

INSTANTIATE_TEST_SUITE_P(InsideAShard, StoresAfterADeath,
                         testing::Values(Breakage::kDeathInside, Breakage::kCorruption),
                         [](const auto& tested) {
                           return tested.param == Breakage::kCorruption ? "Corrupt" : "DeathInside";
                         });

TEST_F(NoWait, ARequestAfterADeathInsideIsGrantedOnceTheWorkerHasRepaired) {
  DieInside();
  const Agent::Answer answer = Request(*agent_);
  ASSERT_EQ(answer.outcome, RequestOutcome::kQueued);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kGranted);
}

// A thread stays inside for some time after each call has begun; it may be without a processor.
TEST_F(NoWait, AFreeNameIsNotLockedWhileAThreadIsBrieflyInside) {
  constexpr int kCalls = 100;
  constexpr uint64_t kAMinuteNs = 60'000'000'000;
  std::atomic<int> inside = 0;
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  std::thread other([&] {
    core::LockTable& table = attachment_->lock_table();
    for (int call = 1; call <= kCalls; ++call) {
      while (ended < call - 1) {
      }
      core::WakeQueue wake_queue(table.segment(), table.host());
      const auto lock = table.EnterForRead(Shard(), wake_queue, kAMinuteNs);
      ASSERT_TRUE(lock.ok());
      inside = call;
      while (begun < call) {
      }
      const uint64_t from = table.host().MonotonicNs();
      while (table.host().MonotonicNs() - from < core::kReadPauseNs) {
      }
    }
  });
  int locked = 0;
  for (int call = 1; call <= kCalls; ++call) {
    while (inside < call) {
    }
    begun = call;
    if (*agent_->IsLocked(Name(), 1)) ++locked;
    ended = call;
  }
  other.join();
  EXPECT_LT(locked, kCalls / 2);
}

// Readings publish no operation that a visit would execute.
class ReadingAfterADeathInside : public NoWait {
 protected:
  void SetUp() override {
    NoWait::SetUp();
    ASSERT_EQ(Request(*agent_).id, 0U);
    ASSERT_EQ(Request(*agent_).id, 1U);
    DieInside();
    ASSERT_TRUE(NeedsRepair());
  }
};

TEST_F(ReadingAfterADeathInside, OfWhetherANameIsLockedHasTheWorkerRepair) {
  EXPECT_TRUE(*agent_->IsLocked(Name(), 1));
  AwaitRepair();
}

TEST_F(ReadingAfterADeathInside, OfHoldersHasTheWorkerRepair) {
  EXPECT_EQ(agent_->HoldersOf(Name(), 1).status().code(), StatusCode::kBusy);
  AwaitRepair();
}

TEST_F(ReadingAfterADeathInside, OfTheWholeTableHasTheWorkerRepair) {
  EXPECT_EQ(agent_->TakeSnapshot(0).status().code(), StatusCode::kBusy);
  AwaitRepair();
}

TEST_F(ReadingAfterADeathInside, OfBlockersHasTheWorkerRepair) {
  const uint32_t waiting = 1;
  const auto walk = agent_->BeginWaitWalk({&waiting, 1}, false);
  EXPECT_EQ(agent_->GoOn(**walk).status().code(), StatusCode::kBusy);
  AwaitRepair();
}

class IfAvailable : public NoWait {
 protected:
  static core::RequestParams RequestIfAvailable() {
    core::RequestParams request;
    request.max_pending = 0;
    return request;
  }
  static core::RequestParams Shared() {
    core::RequestParams request;
    request.mode = LockMode::kShared;
    return request;
  }
};

TEST_F(IfAvailable, IsGrantedOnceTheWorkerHasReapedTheHolder) {
  DieWith(1);
  ASSERT_EQ(Request(*agent_, RequestIfAvailable()).outcome, RequestOutcome::kQueued);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kGranted);
}

TEST_F(IfAvailable, ReapsNothingItself) {
  DieWith(1);
  const int few = StoresOf([this] { Request(*agent_, RequestIfAvailable()); });
  const uint32_t id = NextEvent(*agent_).id;
  agent_->End(id);
  DieWith(kMany);
  const int many = StoresOf([this] { Request(*agent_, RequestIfAvailable()); });
  EXPECT_EQ(few, many);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kGranted);
}

TEST_F(IfAvailable, LeavesNothingIfItEndsBeforeTheHolderIsReaped) {
  DieWith(kMany);
  const uint32_t id = Request(*agent_, RequestIfAvailable()).id;
  EXPECT_EQ(agent_->End(id), core::Loss::kNone);
  EXPECT_EQ(agent_->queued(), 0U);
  EXPECT_EQ(agent_->in_use(), 0U);
  // A later request of the same number gets a new outcome.
  ASSERT_EQ(Request(*agent_).id, id);
  EXPECT_TRUE(agent_->IsHeld(id) || NextEvent(*agent_).kind == RequestEvent::Kind::kGranted);
  std::vector<RequestEvent> events;
  while (agent_->HasEvents()) agent_->TakeEvents(events);
  EXPECT_TRUE(events.empty());
}

// The worker takes the postponed requests of a shard in order: the event of the second one comes
// after the turn of the first, whose number another request has by then.
TEST_F(IfAvailable, IsNotMadeOnceItHasEnded) {
  DieWith(kMany);
  const uint32_t id = Request(*agent_, RequestIfAvailable()).id;
  const uint32_t second = Request(*agent_, RequestIfAvailable()).id;
  ASSERT_EQ(agent_->End(id), core::Loss::kNone);
  ASSERT_EQ(Request(*agent_).id, id);
  const bool was_held = agent_->IsHeld(id);
  std::vector<RequestEvent> of_id;
  for (bool is_decided = false; !is_decided; std::this_thread::yield()) {
    std::vector<RequestEvent> events;
    agent_->TakeEvents(events);
    for (const RequestEvent& event : events) {
      if (event.id == id) of_id.push_back(event);
      is_decided |= event.id == second;
    }
  }
  ASSERT_EQ(of_id.size(), was_held ? 0U : 1U);
  EXPECT_TRUE(was_held || of_id[0].kind == RequestEvent::Kind::kGranted);
}

TEST_F(IfAvailable, IsMissedIfALivingProcessHoldsTheLockBesideADeadOne) {
  const std::unique_ptr<Agent> other = Open();
  const core::RequestParams shared = Shared();
  DieWith(1, shared);
  ASSERT_EQ(Request(*other, shared).outcome, RequestOutcome::kGranted);
  ASSERT_EQ(Request(*agent_, RequestIfAvailable()).outcome, RequestOutcome::kQueued);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kMissed);
}

TEST_F(IfAvailable, IsGrantedTheSeatOfADeadHolderAmongSeveral) {
  const std::unique_ptr<Agent> other = Open();
  core::RequestParams seat = Shared();
  seat.limit = 2;
  ASSERT_EQ(Request(*other, seat).outcome, RequestOutcome::kGranted);
  DieWith(1, seat);
  seat.max_pending = 0;
  ASSERT_EQ(Request(*agent_, seat).outcome, RequestOutcome::kQueued);
  EXPECT_EQ(NextEvent(*agent_).kind, RequestEvent::Kind::kGranted);
}

// A request that is refused watches the last process of the queue.
TEST_F(NoWait, ADeadWaiterIsNotCountedOnceItsDeathIsNoticed) {
  const std::unique_ptr<Agent> other = Open();
  ASSERT_EQ(Request(*other).outcome, RequestOutcome::kGranted);
  DieWith(1);
  core::RequestParams few;
  few.max_pending = 1;
  while (Request(*agent_, few).outcome == RequestOutcome::kMissed) std::this_thread::yield();
  EXPECT_EQ(Request(*other, few).outcome, RequestOutcome::kMissed);
}

// A newcomer that finds the entries of all agents taken by the dead.
TEST_F(NoWait, AnAgentGetsTheEntryOfADeadProcess) {
  ProcessRef dead;
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(pipe(pipe_fds.data()), 0);
  InAProcess([&] {
    dead = OpenAsAnother().release()->ref().process;
    _exit(write(pipe_fds[1], &dead, sizeof(dead)) == sizeof(dead) ? 0 : 1);
  });
  ASSERT_EQ(read(pipe_fds[0], &dead, sizeof(dead)), static_cast<ssize_t>(sizeof(dead)));
  for (const int fd : pipe_fds) close(fd);
  for (uint32_t i = 0; i < Table().geometry().agents; ++i) {
    uint64_t none = 0;
    Table().agent(i).owner.CompareExchange(none, dead.ToWord());
  }
  EXPECT_TRUE(Agent::Open(Options(), {3, 3}).ok());
}

// A rescan after a repair.
class PieceByPiece : public NoWait {
 protected:
  void Repair() {
    Table().shard(Shard()).dirty.Set(1);
    EXPECT_TRUE(*agent_->IsLocked(Name(), 1));
    AwaitRepair();
    while (!agent_->HasEvents()) std::this_thread::yield();
  }
  segment::RequestCell& CellOf(uint32_t id) const {
    return segment::AsRequest(*Table().CellByNumber(agent_->RecordOf(id).cell - 1));
  }
};

constexpr int kPieces = 3;
constexpr int kPiece = 1000;  // records

TEST_F(PieceByPiece, AnAgentReadsItsRecords) {
  for (int i = 0; i < kPieces * kPiece; ++i) Request(*agent_);
  Repair();
  std::vector<RequestEvent> events;
  int calls = 0;
  for (; agent_->HasEvents(); ++calls) {
    const int stores = StoresOf([&] { agent_->TakeEvents(events); });
    EXPECT_LT(stores, 2 * kPiece);  // each record that is read costs one
  }
  EXPECT_GE(calls, kPieces);
  EXPECT_TRUE(events.empty());
}

TEST_F(PieceByPiece, AnAgentLosesWhatHasNoRecordAndNothingElse) {
  for (int i = 0; i < kPieces * kPiece; ++i) Request(*agent_);
  CellOf(kPiece).state.Set(segment::CellState::kText);
  Repair();
  std::vector<RequestEvent> events;
  while (agent_->HasEvents()) agent_->TakeEvents(events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].id, static_cast<uint32_t>(kPiece));
  EXPECT_EQ(events[0].kind, RequestEvent::Kind::kFailed);
}

// Records begin and end between the pieces, also the record that was read last.
TEST_F(PieceByPiece, AnAgentReadsItsRecordsWhileTheyChange) {
  for (int i = 0; i < kPieces * kPiece; ++i) Request(*agent_);
  Repair();
  std::vector<RequestEvent> events;
  // The newest is read first.
  for (uint32_t last = (kPieces - 1) * kPiece; agent_->HasEvents(); last -= kPiece) {
    agent_->TakeEvents(events);
    for (uint32_t id = last - 1; id <= last + 1 && id > 0; ++id) agent_->End(id);
    Request(*agent_);
    ASSERT_LT(last, static_cast<uint32_t>(kPieces * kPiece));
    if (last == 0) last += kPiece;
  }
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace holdfast::test
