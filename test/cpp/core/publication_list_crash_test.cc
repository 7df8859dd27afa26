// A process dies behind every single store while it executes for others what is in the publication
// list of a shard, or while it puts something in; the others continue.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <list>
#include <optional>
#include <string>

#include "core/combiner.h"
#include "core/operation_pool.h"
#include "segment/invariants.h"
#include "support/fake_agent.h"
#include "support/reference_model.h"
#include "support/store_recorder.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;
using segment::CellId;
using segment::CellState;
using segment::OperationCell;
using segment::OperationKind;
using segment::OperationState;
using segment::ProcessRef;

// One shard, so that everything meets there; room for some operations in each extent.
constexpr segment::Geometry::Counts kCounts{.shards = 1,
                                            .processes = 5,
                                            .agents = 6,
                                            .buckets_per_shard = 2,
                                            .extent_bytes = 2048,
                                            .extents = 12};
constexpr uint32_t kShard = 0;
const std::u16string kLongName(100, u'l');

class Scene {
 public:
  struct Publish {
    CellId id = segment::kNoCell;
    uint32_t request_id = 0;
    uint16_t agent = 0;
    bool is_end = false;
  };

  Scene() : machine(kCounts) {}
  Scene(const Scene& other, const Frame& frame)
      : machine(other.machine.segment().geometry(), frame.image),
        doomed_process(other.doomed_process),
        p(other.p),
        q(other.q),
        rescuer(other.rescuer),
        second_rescuer(other.second_rescuer),
        doomed(machine, other.doomed),
        a(machine, other.a),
        b(machine, other.b),
        published(other.published) {}

  // The doomed process is inside the shard; it does not check the publication list when it
  // enters.
  void GoInside() {
    wake_queue.emplace(machine.segment(), machine.host());
    auto lock = lock_table.Enter(kShard, *wake_queue, kShardTimeoutNs);
    ASSERT_TRUE(lock.ok());
    inside.emplace(std::move(*lock));
  }
  void GoOutside() {
    inside.reset();
    wake_queue.reset();
  }

  uint32_t Request(FakeAgent& agent, std::u16string_view name,
                   const Options& options = kExclusive) {
    (void)agent.Request(++last_id, name, options);
    return last_id;
  }
  void Put(FakeAgent& agent, std::u16string_view name, const Options& options = kExclusive) {
    OperationCell& cell = New(agent, OperationKind::kRequest, ++last_id);
    cell.steals.Set(options.steal ? 1 : 0);
    cell.argument.Set(options.max_pending);
    cell.mode.Set(static_cast<uint8_t>(options.mode));
    segment::WriteTexts(machine.segment(), cell, cell_.text, {name, u"", u""});
    agent.lock_table().Publish(cell_.id, cell);
  }
  void PutEnd(FakeAgent& agent, uint32_t request_id) {
    const core::RecordRef record = agent.mine().at(request_id).record;
    OperationCell& cell = New(agent, OperationKind::kEnd, request_id);
    cell.cell.Set(record.cell);
    cell.ticket.Set(record.ticket);
    agent.lock_table().Publish(cell_.id, cell);
  }
  // Of a request that is itself still in the publication list.
  void PutEndOfTheLast(FakeAgent& agent) {
    const Publish request = published.back();
    OperationCell& cell = New(agent, OperationKind::kEnd, request.request_id);
    cell.argument.Set(request.id);
    agent.lock_table().Publish(cell_.id, cell);
  }

  void FallAsleep() {
    for (FakeAgent* const agent : {&doomed, &a, &b}) {
      (void)agent->TakeEvents();
      agent->FallAsleep();
    }
    machine.host().ForgetRings();
  }

  OperationCell& CellOf(const Publish& put) {
    return segment::AsOperation(*machine.segment().CellByNumber(put.id - 1));
  }
  ReferenceModel Records() { return ReferenceModel::Read(machine.segment()); }

  FakeMachine machine;
  ProcessRef doomed_process = machine.Attach(0);
  ProcessRef p = machine.Attach(1);
  ProcessRef q = machine.Attach(2);
  ProcessRef rescuer = machine.Attach(3);
  ProcessRef second_rescuer = machine.Attach(4);
  FakeAgent doomed{machine, doomed_process, 0};
  FakeAgent a{machine, p, 1};
  FakeAgent b{machine, q, 2};
  std::vector<Publish> published;
  uint32_t last_id = 0;
  core::LockTable lock_table{machine.segment(), machine.host(), doomed_process};
  std::optional<core::WakeQueue> wake_queue;
  std::optional<segment::ShardLock> inside;

 private:
  OperationCell& New(FakeAgent& agent, OperationKind kind, uint32_t request_id) {
    pools_.emplace_back(machine.segment(), machine.host(), agent.ref().process);
    const Result<core::OperationBuffer> buffer = pools_.back().Allocate(1);
    EXPECT_TRUE(buffer.ok());
    cell_ = *buffer;
    OperationCell& cell = segment::AsOperation(*machine.segment().CellByNumber(cell_.id - 1));
    cell.shard.Set(kShard);
    cell.kind.Set(kind);
    cell.process_slot.Set(agent.ref().process.slot);
    cell.process_generation.Set(agent.ref().process.generation);
    cell.agent.Set(agent.ref().index);
    cell.agent_generation.Set(agent.ref().generation);
    cell.request_id.Set(request_id);
    published.push_back({cell_.id, request_id, agent.ref().index, kind == OperationKind::kEnd});
    return cell;
  }

  std::list<core::OperationPool> pools_;
  core::OperationBuffer cell_;
};

struct Case {
  std::string name;
  std::function<void(Scene&)> prepare;
  std::function<void(Scene&)> published;  // while the doomed process is inside
  std::function<void(Scene&)> operate;    // by the doomed process
};

void Leave(Scene& scene) { scene.GoOutside(); }

std::vector<Case> Cases() {
  return {
      {"OneRequest", [](Scene&) {}, [](Scene& s) { s.Put(s.a, u"x"); }, Leave},
      {"RequestsOfSeveral", [](Scene& s) { s.Request(s.b, u"y"); },
       [](Scene& s) {
         s.Put(s.a, u"x");
         s.Put(s.b, u"x");
         s.Put(s.a, u"y", kShared);
         s.Put(s.b, kLongName);
       },
       Leave},
      {"RequestBehindAWatchingHolder",
       [](Scene& s) {
         s.Request(s.b, u"x");
         s.b.WatchContention(1);
       },
       [](Scene& s) { s.Put(s.a, u"x"); }, Leave},
      {"RequestThatMisses", [](Scene& s) { s.Request(s.b, u"x"); },
       [](Scene& s) { s.Put(s.a, u"x", kIfAvailable); }, Leave},
      {"EndsThatGrant",
       [](Scene& s) {
         s.Request(s.a, u"x");
         s.Request(s.b, u"x");
         s.Request(s.a, kLongName);
       },
       [](Scene& s) {
         s.PutEnd(s.a, 1);
         s.PutEnd(s.a, 3);
       },
       Leave},
      {"EndOfAWaitingRequest",
       [](Scene& s) {
         s.Request(s.a, u"x", kShared);
         s.Request(s.b, u"x");
         s.Request(s.a, u"x", kShared);
       },
       [](Scene& s) { s.PutEnd(s.b, 2); }, Leave},
      {"StealThenEnd", [](Scene& s) { s.Request(s.a, u"x"); },
       [](Scene& s) {
         s.Put(s.b, u"x", kSteal);
         s.PutEnd(s.a, 1);
         s.Put(s.a, u"x");
       },
       Leave},
      {"EndOfARequestThatArrives", [](Scene& s) { s.Request(s.a, u"x"); },
       [](Scene& s) {
         s.Put(s.b, u"x");
         s.PutEndOfTheLast(s.b);
         s.Put(s.b, u"x", kShared);
       },
       Leave},
      {"RequestBehindItsOwnRelease", [](Scene& s) { s.Request(s.doomed, u"x"); },
       [](Scene& s) { s.Put(s.a, u"x"); },
       [](Scene& s) {
         s.GoOutside();
         (void)s.doomed.End(1);
       }},
      {"ManyThatNeedRoom", [](Scene&) {},
       [](Scene& s) {
         for (const char16_t* name : {u"c", u"d", u"e"}) {
           s.Put(s.a, std::u16string(60, *name));
         }
       },
       Leave},
  };
}

class PublicationCrashes : public testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() { std::cout << images_ << " crash images" << std::endl; }

  static void Arrange(Scene& scene) {
    GetParam().prepare(scene);
    scene.GoInside();
    GetParam().published(scene);
    scene.FallAsleep();
  }

  // The dead are gone; a survivor finds out.
  static void CleanUp(Scene& scene, ProcessRef rescuer, const std::vector<ProcessRef>& dead) {
    for (const ProcessRef process : dead) scene.machine.Kill(process);
    for (const ProcessRef process : dead) {
      (void)scene.machine.LockTableOf(rescuer).Reap(process, kShardTimeoutNs);
    }
    core::WakeQueue wake_queue(scene.machine.segment(), scene.machine.host());
    (void)scene.machine.LockTableOf(rescuer).Enter(kShard, wake_queue, kShardTimeoutNs);
  }

  static ReferenceModel Without(ReferenceModel model, const Scene& scene,
                                const std::vector<ProcessRef>& dead) {
    for (const FakeAgent* agent : {&scene.doomed, &scene.a, &scene.b}) {
      const bool is_dead = std::find(dead.begin(), dead.end(), agent->ref().process) != dead.end();
      if (is_dead) model.TerminateAgent(agent->ref().index);
    }
    return model;
  }

  // `done`: the scene without a death.
  static void Check(Scene& scene, Scene& done, const std::vector<ProcessRef>& dead,
                    const Frame& frame, const std::string& where) {
    ++images_;
    for (const std::string& violation : segment::CheckInvariants(scene.machine.segment())) {
      ADD_FAILURE() << where << ": " << violation;
    }
    const ReferenceModel found = scene.Records();
    const ReferenceModel expected = Without(done.Records(), scene, dead);
    EXPECT_TRUE(found == expected) << where << ":\n"
                                   << found.ToString() << "\nnot\n"
                                   << expected.ToString();
    std::vector<segment::AgentRef> rung = frame.rings;
    const std::vector<segment::AgentRef> now = scene.machine.host().Rings();
    rung.insert(rung.end(), now.begin(), now.end());
    for (const Scene::Publish& put : scene.published) {
      const FakeAgent& agent = put.agent == scene.a.ref().index ? scene.a : scene.b;
      CheckAnswer(scene, done, put, found, where);
      // After a death inside a shard every agent reads all of its requests.
      const segment::AgentEntry& entry = scene.machine.segment().agent(put.agent);
      EXPECT_TRUE(entry.answered.Get() != 0 || entry.rescan.Get() != 0) << where;
      EXPECT_NE(std::find(rung.begin(), rung.end(), agent.ref()), rung.end())
          << where << ": agent " << put.agent << " has an answer and was not rung";
    }
  }

  static void CheckAnswer(Scene& scene, Scene& done, const Scene::Publish& put,
                          const ReferenceModel& found, const std::string& where) {
    const OperationCell& cell = scene.CellOf(put);
    const OperationCell& other = done.CellOf(put);
    EXPECT_NE(cell.state.Get(), OperationState::kPending) << where;
    if (put.is_end) {
      EXPECT_EQ(cell.ended.Get(), other.ended.Get()) << where;
      return;
    }
    const Result<core::RequestReply> reply = core::ReplyOf(cell);
    ASSERT_TRUE(reply.ok()) << where << ": " << reply.status().reason();
    const RequestOutcome outcome = core::ReplyOf(other)->outcome;
    // It may have been granted since, by a process that died before the answer was complete.
    const bool was_granted_since = outcome == RequestOutcome::kQueued &&
                                   reply->outcome == RequestOutcome::kGranted &&
                                   found.IsHeld(put.request_id);
    EXPECT_TRUE(reply->outcome == outcome || was_granted_since) << where;
    if (!found.IsHeld(put.request_id) && !found.IsQueued(put.request_id)) return;
    const segment::ShardView view(scene.machine.segment(), kShard);
    const segment::RequestCell* const record = core::RequestOf(view, reply->record);
    ASSERT_NE(record, nullptr) << where;
    EXPECT_EQ(record->request_id.Get(), put.request_id) << where;
  }

  static inline size_t images_ = 0;
};

TEST_P(PublicationCrashes, OfACombinerLeaveEveryOperationExecutedOnce) {
  Scene scene;
  Arrange(scene);
  const Scene known(scene, {scene.machine.TakeImage(), {}});
  const std::vector<Frame> frames = FramesOf(scene.machine, [&] { GetParam().operate(scene); });
  // Whatever is left is executed by then.
  Scene& done = scene;
  for (size_t i = 0; i < frames.size() && !HasFailure(); ++i) {
    const std::string where = "store " + std::to_string(i);
    Scene left(known, frames[i]);
    CleanUp(left, left.rescuer, {left.doomed_process});
    Check(left, done, {left.doomed_process}, frames[i], where);
    if (i % 5 != 0) continue;
    // The rescuer dies, too, behind some of its stores; another one continues.
    Scene rescue(known, frames[i]);
    constexpr size_t kStep = 17;
    const size_t first = i % kStep;
    const std::vector<Frame> again = FramesOf(
        rescue.machine, [&] { CleanUp(rescue, rescue.rescuer, {rescue.doomed_process}); }, first,
        kStep);
    for (size_t j = 0; j < again.size() && !HasFailure(); ++j) {
      Frame both = again[j];
      both.rings.insert(both.rings.end(), frames[i].rings.begin(), frames[i].rings.end());
      Scene twice(known, both);
      CleanUp(twice, twice.second_rescuer, {twice.doomed_process, twice.rescuer});
      Check(twice, done, {twice.doomed_process, twice.rescuer}, both,
            where + ", store " + std::to_string(first + j * kStep) + " of the rescue");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOperation, PublicationCrashes, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

// The doomed process is not inside, but puts in.
class PublishCrashes : public testing::Test {
 protected:
  static void DieBehindEachStore(const std::function<void(Scene&)>& prepare,
                                 const std::function<void(Scene&)>& published) {
    Scene scene;
    prepare(scene);
    const ReferenceModel others = [&] {
      ReferenceModel model = scene.Records();
      model.TerminateAgent(scene.doomed.ref().index);
      return model;
    }();
    segment::LockWord word(scene.machine.segment(), kShard);
    platform::CriticalSectionMark mark;
    mark.Enter();
    ASSERT_EQ(word.Acquire(scene.p, mark, scene.machine.host(), kShardTimeoutNs),
              segment::LockOutcome::kAcquired);
    const Scene known(scene, {scene.machine.TakeImage(), {}});
    const std::vector<Frame> frames = FramesOf(scene.machine, [&] { published(scene); });
    for (size_t i = 0; i < frames.size() && !HasFailure(); ++i) {
      Scene left(known, frames[i]);
      left.machine.Kill(left.doomed_process);
      segment::LockWord(left.machine.segment(), kShard).Release(left.p, left.machine.host());
      ASSERT_TRUE(left.b.lock_table().Reap(left.doomed_process, kShardTimeoutNs).ok());
      for (const std::string& violation : segment::CheckInvariants(left.machine.segment())) {
        ADD_FAILURE() << "store " << i << ": " << violation;
      }
      EXPECT_EQ(left.Records(), others) << "store " << i << ":\n" << left.Records().ToString();
      EXPECT_EQ(left.machine.segment().shard(kShard).publications.Get(), segment::kNoCell);
      // The room that the dead process had claimed for its operations is free for all.
      core::ExtentGrowth growth(left.machine.segment(), left.machine.host(), left.q);
      const segment::Geometry& geometry = left.machine.segment().geometry();
      uint32_t owned = 0;
      for (uint32_t extent = 0; extent < geometry.extents; ++extent) {
        if (left.machine.segment().extent_owner(extent).Get() == kShard + 1) ++owned;
      }
      EXPECT_TRUE(growth.Claim((geometry.extents - owned) * geometry.cells_per_extent).ok())
          << "store " << i;
    }
  }
};

TEST_F(PublishCrashes, OfARequestLeaveNothing) {
  DieBehindEachStore([](Scene& s) { s.Request(s.a, u"x"); },
                     [](Scene& s) { s.Put(s.doomed, u"x"); });
}

TEST_F(PublishCrashes, OfAnEndLeaveNothing) {
  DieBehindEachStore(
      [](Scene& s) {
        s.Request(s.doomed, u"x");
        s.Request(s.a, u"x");
      },
      [](Scene& s) { s.PutEnd(s.doomed, 1); });
}

TEST_F(PublishCrashes, OfARequestAndItsEndLeaveNothing) {
  DieBehindEachStore([](Scene& s) { s.Request(s.a, u"x"); },
                     [](Scene& s) {
                       s.Put(s.doomed, u"x");
                       s.PutEndOfTheLast(s.doomed);
                     });
}

}  // namespace
}  // namespace holdfast::test
