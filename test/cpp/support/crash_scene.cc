#include "support/crash_scene.h"

#include <algorithm>

#include "segment/invariants.h"
#include "segment/watch_ring.h"

namespace holdfast::test {

using core::RequestOutcome;
using segment::ProcessRef;

namespace {

// With room in the watch ring for all that happens in a scene.
segment::Geometry::Counts SceneCounts() {
  segment::Geometry::Counts counts = kSmallCounts;
  counts.watch_ring_slots = 32;
  counts.watch_ring_words = 256;
  return counts;
}

}  // namespace

CrashScene::CrashScene()
    : machine(SceneCounts()),
      doomed_process(machine.Attach(0)),
      first_process(machine.Attach(1)),
      second_process(machine.Attach(2)),
      ghost_process(machine.Attach(3)),
      doomed(machine, doomed_process, 0),
      doomed_too(machine, doomed_process, 1),
      first(machine, first_process, 2),
      second(machine, second_process, 3),
      second_too(machine, second_process, 4),
      ghost(machine, ghost_process, 5) {}

CrashScene::CrashScene(const CrashScene& other, const Frame& frame)
    : machine(other.machine.segment().geometry(), frame.image),
      doomed_process(other.doomed_process),
      first_process(other.first_process),
      second_process(other.second_process),
      ghost_process(other.ghost_process),
      doomed(machine, other.doomed),
      doomed_too(machine, other.doomed_too),
      first(machine, other.first),
      second(machine, other.second),
      second_too(machine, other.second_too),
      ghost(machine, other.ghost),
      last_id_(other.last_id_) {}

uint32_t CrashScene::Request(FakeAgent& agent, std::u16string_view name, const Options& options) {
  ++last_id_;
  (void)agent.Request(last_id_, name, options);
  return last_id_;
}

void CrashScene::FallAsleep() {
  for (FakeAgent* const agent : Agents()) {
    (void)agent->TakeEvents();
    agent->FallAsleep();
  }
  machine.host().ForgetRings();
}

bool CrashScene::IsAmong(const std::vector<ProcessRef>& processes, const FakeAgent& agent) const {
  return std::find(processes.begin(), processes.end(), agent.ref().process) != processes.end();
}

ReferenceModel CrashScene::Without(ReferenceModel model, const std::vector<ProcessRef>& dead) {
  for (const FakeAgent* const agent : Agents()) {
    if (IsAmong(dead, *agent)) model.TerminateAgent(agent->ref().index);
  }
  return model;
}

CrashScene::Faults CrashScene::CleanUp(const std::vector<ProcessRef>& dead, ProcessRef rescuer) {
  Faults faults;
  for (const ProcessRef process : dead) machine.Kill(process);
  for (const ProcessRef process : dead) {
    const Status done = machine.LockTableOf(rescuer).Reap(process, kShardTimeoutNs);
    if (!done.ok()) faults.push_back(std::string("not cleaned up: ") + done.reason());
  }
  return faults;
}

CrashScene::Faults CrashScene::Rescue(const std::vector<ProcessRef>& dead, ProcessRef rescuer,
                                      const ReferenceModel& before, const ReferenceModel& after,
                                      const Frame& frame) {
  const uint64_t newest_token = machine.segment().header().last_token.Get();
  Faults faults = CleanUp(dead, rescuer);
  CheckInvariants("after the rescue", faults);
  const ReferenceModel found = ReferenceModel::Read(machine.segment());
  const ReferenceModel undone = Without(before, dead);
  const ReferenceModel done = Without(after, dead);
  if (!(found == undone) && !(found == done)) {
    faults.push_back("the records are neither as before nor as after the operation:\n" +
                     found.ToString() + "\nbefore:\n" + undone.ToString() + "\nafter:\n" +
                     done.ToString());
  }
  CheckTokens(newest_token, before, faults);
  std::vector<segment::AgentRef> rung = frame.rings;
  const std::vector<segment::AgentRef> now = machine.host().Rings();
  rung.insert(rung.end(), now.begin(), now.end());
  for (FakeAgent* const agent : Agents()) {
    if (!IsAmong(dead, *agent)) CheckAgent(*agent, rung, faults);
  }
  CheckSecondRepair(rescuer, faults);
  CheckNothingIsLeft(dead, faults);
  return faults;
}

void CrashScene::CheckWatchRing(Faults& faults) {
  using segment::LockEvent;
  const segment::WatchRing watch_ring(machine.segment());
  if (watch_ring.Last() == 0) return;
  int64_t holders = 0;
  for (uint64_t number = 1; number <= watch_ring.Last(); ++number) {
    segment::WatchRingEntry entry{};
    std::u16string name;
    // A process died before the entry was written: watchers learn that they have missed something.
    if (watch_ring.Read(number, entry, name) != segment::WatchRing::Found::kEntry) return;
    const auto event = static_cast<LockEvent>(entry.type);
    if (event == LockEvent::kGranted) {
      ++holders;
    } else if (entry.token != 0) {
      --holders;
    }
  }
  int64_t held = 0;
  for (uint32_t number = 0; number < machine.segment().geometry().cells(); ++number) {
    const segment::AnyCell& cell = *machine.segment().CellByNumber(number);
    if (cell.state.Get() == segment::CellState::kHeld) ++held;
  }
  if (holders == held) return;
  faults.push_back("by the watch_ring " + std::to_string(holders) + " locks are held, not " +
                   std::to_string(held));
}

void CrashScene::CheckInvariants(const char* when, Faults& faults) {
  for (const std::string& violation : segment::CheckInvariants(machine.segment())) {
    faults.push_back(std::string(when) + ": " + violation);
  }
}

// A lock that was held all the time keeps its token, and the newest token never goes back.
void CrashScene::CheckTokens(uint64_t newest_before, const ReferenceModel& before, Faults& faults) {
  if (machine.segment().header().last_token.Get() < newest_before) {
    faults.push_back("the newest token went back");
  }
  for (uint32_t number = 0; number < machine.segment().geometry().cells(); ++number) {
    segment::AnyCell* const cell = machine.segment().CellByNumber(number);
    if (cell->state.Get() != segment::CellState::kHeld) continue;
    const segment::RequestCell& request = segment::AsRequest(*cell);
    const uint32_t id = request.request_id.Get();
    for (const FakeAgent* const agent : Agents()) {
      const auto mine = agent->mine().find(id);
      if (mine == agent->mine().end() || !mine->second.is_held || !before.IsHeld(id)) continue;
      if (mine->second.token != request.token.Get()) {
        faults.push_back("request " + std::to_string(id) + " has another token");
      }
    }
  }
}

// No agent may depend on luck to learn the outcome of its requests: an agent with events was rung.
void CrashScene::CheckAgent(FakeAgent& agent, const std::vector<segment::AgentRef>& rung,
                            Faults& faults) {
  const ReferenceModel truth = ReferenceModel::Read(machine.segment());
  const auto mine = agent.mine();
  bool has_events = false;
  for (const auto& [id, known] : mine) {
    has_events = has_events || (known.is_held ? !truth.IsHeld(id) : !truth.IsQueued(id));
  }
  has_events = has_events || agent.MissesContention();
  const bool was_rung = std::find(rung.begin(), rung.end(), agent.ref()) != rung.end();
  const std::string who = "agent " + std::to_string(agent.ref().index);
  if (has_events && !was_rung) faults.push_back(who + " has events and was not rung");
  if (!agent.TakeEvents().ok()) faults.push_back(who + " could not take its events");
  if (agent.MissesContention()) faults.push_back(who + " was not notified of a waiter");
  for (const auto& [id, known] : mine) {
    if (agent.Holds(id) != truth.IsHeld(id) || agent.WaitsFor(id) != truth.IsQueued(id)) {
      faults.push_back(who + " is wrong about its request " + std::to_string(id));
    }
  }
}

bool CrashScene::HasWatchers() {
  const std::vector<FakeAgent*> agents = Agents();
  return std::any_of(agents.begin(), agents.end(), [&](const FakeAgent* agent) {
    const segment::AgentEntry& entry = machine.segment().agent(agent->ref().index);
    return entry.owner.Get() != 0 && entry.watching.Get() == entry.generation.Get();
  });
}

void CrashScene::CheckSecondRepair(ProcessRef rescuer, Faults& faults) {
  const ReferenceModel once = ReferenceModel::Read(machine.segment());
  for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
    machine.segment().shard(shard).dirty.Set(1);
    core::WakeQueue wake_queue(machine.segment(), machine.host());
    if (!machine.LockTableOf(rescuer).Enter(shard, wake_queue, kShardTimeoutNs).ok()) {
      faults.push_back("a shard cannot be entered");
    }
  }
  CheckInvariants("after a second repair", faults);
  if (!(ReferenceModel::Read(machine.segment()) == once)) {
    faults.push_back("a second repair changes something");
  }
}

void CrashScene::CheckNothingIsLeft(const std::vector<ProcessRef>& dead, Faults& faults) {
  for (FakeAgent* const agent : Agents()) {
    if (IsAmong(dead, *agent)) continue;
    (void)agent->TakeEvents();
    const auto mine = agent->mine();
    for (const auto& [id, known] : mine) (void)agent->End(id);
    const auto biased = agent->biased();
    for (const auto& [id, record] : biased) agent->FreeBiased(id);
    (void)agent->TakeEvents();
  }
  // The last releases grant to agents that requested before.
  for (FakeAgent* const agent : Agents()) {
    if (!IsAmong(dead, *agent)) (void)agent->TakeEvents();
  }
  CheckInvariants("after the last release", faults);
  for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
    const bool is_watched = (machine.segment().shard(shard).watched.Get() & 1) != 0;
    if (is_watched != HasWatchers()) faults.push_back("a shard is watched without a watcher");
    const uint32_t used = machine.segment().shard(shard).used_count.Get();
    if (used != 0) faults.push_back(std::to_string(used) + " cells are never freed");
  }
}

}  // namespace holdfast::test
