#include "core/random_history.h"

#include <algorithm>
#include <utility>

#include "core/snapshot.h"
#include "segment/invariants.h"
#include "support/store_recorder.h"

namespace holdfast::test {

using core::RequestOutcome;
using segment::AgentRef;
using segment::ProcessRef;

namespace {

constexpr uint16_t kProcesses = 4;
constexpr uint16_t kAgents = 6;

const std::u16string kLabels[] = {u"", u"", u"", u"", u"why", std::u16string(100, u't')};
const std::u16string kHistoryNames[] = {u"", u"n", u"m", u"o", std::u16string(100, u'l')};

bool Has(const auto& list, const auto& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

RandomHistory::RandomHistory(uint64_t seed) : random_(seed) { Populate(); }

std::string RandomHistory::Run(int steps) {
  for (int i = 0; i < steps && fault_.empty(); ++i) {
    Step();
    if (!fault_.empty()) return "step " + std::to_string(i) + ": " + fault_;
  }
  return fault_;
}

// Empty slots and entries get new processes and agents; there are always two processes.
void RandomHistory::Populate() {
  for (uint16_t slot = 0; slot < kProcesses; ++slot) {
    const bool is_there = std::any_of(processes_.begin(), processes_.end(),
                                      [slot](ProcessRef process) { return process.slot == slot; });
    if (is_there || (processes_.size() >= 2 && Below(2) == 0)) continue;
    processes_.push_back(machine_.Attach(slot));
  }
  for (uint16_t index = 0; index < kAgents; ++index) {
    if (machine_.segment().agent(index).owner.Get() != 0) continue;
    const ProcessRef process = processes_[index % processes_.size()];
    clients_.push_back(std::make_unique<Client>(Client{FakeAgent(machine_, process, index)}));
    clients_.back()->agent.FallAsleep();
  }
}

void RandomHistory::Step() {
  machine_.host().ForgetRings();
  Client& client = AnyClient();
  const uint32_t dice = Below(100);
  if (dice < 60) {
    Operate(client);
  } else if (dice < 70) {
    machine_.host().PassTime(Below(3000));
    EnforceHoldLimits(client);
  } else if (dice < 79) {
    TakeEvents(client);
  } else if (dice < 82) {
    CompareSnapshot(client);
  } else if (dice < 84) {
    Repair(client);
  } else if (dice < 86) {
    KillBetweenOperations(client);
  } else if (dice < 93) {
    KillInsideAnOperation(client);
  } else {
    Populate();
  }
  EnterDirtyShards();
  WakeTheRung(machine_.host().Rings());
  NoteGrants();
  CheckEverything();
}

// A shard that lost extents is repaired by the next agent that enters it.
void RandomHistory::EnterDirtyShards() {
  for (uint32_t shard = 0; shard < machine_.segment().geometry().shards; ++shard) {
    if (machine_.segment().shard(shard).dirty.Get() == 0) continue;
    core::WakeQueue wake_queue(machine_.segment(), machine_.host());
    if (!clients_[0]->agent.lock_table().Enter(shard, wake_queue, kShardTimeoutNs).ok())
      Fail("no repair");
  }
}

void RandomHistory::NoteGrants() {
  std::map<uint32_t, uint64_t> granted_ns;
  for (const auto& [name, resource] : model_.resources()) {
    for (const ModelRequest& holder : resource.held) {
      const auto known = granted_ns_.find(holder.id);
      granted_ns[holder.id] =
          known == granted_ns_.end() ? machine_.host().MonotonicNs() : known->second;
    }
  }
  granted_ns_ = std::move(granted_ns);
}

void RandomHistory::Operate(Client& client) {
  const uint32_t dice = Below(100);
  if (dice < 45) {
    Request(client);
  } else if (dice < 65) {
    UseBiased(client);
  } else if (dice < 72) {
    WatchContention(client);
  } else if (dice < 78) {
    ChangePriority(client);
  } else if (dice < 97) {
    EndOne(client);
  } else {
    EndAgent(client);
  }
}

void RandomHistory::Request(Client& client) {
  const Options options = AnyOptions();
  const std::u16string& name = kHistoryNames[Below(std::size(kHistoryNames))];
  const uint32_t id = ++last_id_;
  const Result<core::RequestReply> reply = client.agent.Request(id, name, options);
  if (!reply.ok()) {
    if (reply.status().code() != StatusCode::kSegmentFull) Fail("a request failed");
    return;
  }
  const ModelRequest request{.id = id,
                             .agent = client.agent.ref().index,
                             .is_exclusive = options.mode == LockMode::kExclusive,
                             .limit = options.limit,
                             .has_hold_limit = options.hold_limit_ns != 0,
                             .label = std::u16string(options.label),
                             .priority = options.priority};
  if (options.hold_limit_ns != 0) hold_limit_ns_[id] = options.hold_limit_ns;
  const RequestOutcome outcome = model_.Request(name, request, options.max_pending, options.steal);
  if (outcome != reply->outcome) Fail("a request had another outcome than in the model");
}

Options RandomHistory::AnyOptions() {
  Options options;
  if (Below(2) == 0) options.mode = LockMode::kShared;
  if (Below(3) == 0) options.priority = ToPriority(Below(3));
  if (Below(3) == 0) return options;  // these may be biased
  if (Below(3) == 0) options.max_pending = Below(3);
  const bool is_shared = options.mode == LockMode::kShared;
  options.steal = !is_shared && options.max_pending == core::kAnyNumber && Below(5) == 0;
  if (is_shared && Below(2) == 0) options.limit = 1 + Below(3);
  if (Below(4) == 0) options.hold_limit_ns = 1000 * (1 + Below(5));
  options.label = kLabels[Below(std::size(kLabels))];
  return options;
}

const ReferenceModel::Resource* RandomHistory::ResourceOf(uint32_t id) const {
  const auto is_it = [id](const ModelRequest& request) { return request.id == id; };
  for (const auto& [name, resource] : model_.resources()) {
    if (std::any_of(resource.held.begin(), resource.held.end(), is_it) ||
        std::any_of(resource.queue.begin(), resource.queue.end(), is_it)) {
      return &resource;
    }
  }
  return nullptr;
}

// When the time of a held lock is over.
uint64_t RandomHistory::DueNs(uint32_t id) const {
  const auto limit = hold_limit_ns_.find(id);
  return limit == hold_limit_ns_.end() ? UINT64_MAX : granted_ns_.at(id) + limit->second;
}

// Time passes, then an agent checks the hold limit of one of its requests.
void RandomHistory::EnforceHoldLimits(Client& client) {
  const auto& mine = client.agent.mine();
  if (mine.empty()) return;
  const uint32_t id = std::next(mine.begin(), Below(static_cast<uint32_t>(mine.size())))->first;
  const ReferenceModel::Resource* const resource = ResourceOf(id);
  const uint64_t now_ns = machine_.host().MonotonicNs();
  uint64_t due_ns = UINT64_MAX;
  uint32_t victim = 0;
  if (resource != nullptr) {
    for (const ModelRequest& holder : resource->held) {
      if (model_.IsHeld(id) && holder.id != id) continue;
      due_ns = std::min(due_ns, DueNs(holder.id));
      if (victim == 0 && DueNs(holder.id) <= now_ns) victim = holder.id;
    }
  }
  const uint64_t next_ns = client.agent.EnforceHoldLimits(id);
  if (due_ns != UINT64_MAX && (next_ns == 0 || next_ns > std::max(due_ns, now_ns))) {
    Fail("checks too late again");
  };
  if (victim != 0) model_.Expire(victim);
}

void RandomHistory::EndOne(Client& client) {
  const auto& mine = client.agent.mine();
  if (mine.empty()) return;
  const uint32_t id = std::next(mine.begin(), Below(static_cast<uint32_t>(mine.size())))->first;
  if (client.agent.Holds(id) && Below(2) == 0) return EndOrBias(client, id);
  if (!client.agent.End(id).ok()) Fail("a request could not be ended");
  model_.End(id);
}

void RandomHistory::WatchContention(Client& client) {
  const auto& mine = client.agent.mine();
  if (mine.empty()) return;
  const uint32_t id = std::next(mine.begin(), Below(static_cast<uint32_t>(mine.size())))->first;
  const ReferenceModel::Resource* const resource = ResourceOf(id);
  auto highest = segment::Contention::kNone;
  if (model_.IsHeld(id)) {
    for (const ModelRequest& waiting : resource->queue) {
      highest = std::max(highest, segment::ToContention(waiting.priority));
    }
  }
  if (client.agent.WatchContention(id) != highest) Fail("a wrong answer about waiters");
}

void RandomHistory::ChangePriority(Client& client) {
  const auto& mine = client.agent.mine();
  if (mine.empty()) return;
  const uint32_t id = std::next(mine.begin(), Below(static_cast<uint32_t>(mine.size())))->first;
  if (!model_.IsQueued(id)) return;
  const Priority priority = ToPriority(Below(3));
  if (!client.agent.ChangePriority(id, priority).ok()) Fail("a priority could not be changed");
  model_.ChangePriority(id, priority);
}

void RandomHistory::EndOrBias(Client& client, uint32_t id) {
  if (client.agent.biased().contains(id)) {
    client.agent.ReleaseBiased(id);
  } else {
    const ReferenceModel::Resource* const resource = ResourceOf(id);
    if (resource == nullptr) return;  // it was lost
    for (const auto& [name, it] : model_.resources()) {
      if (&it == resource) client.biased_names[id] = name;
    }
    client.agent.EndOrBias(id);
  }
  model_.End(id);
}

// Takes a name by the short way, gives it back, or ends its record.
void RandomHistory::UseBiased(Client& client) {
  const auto& biased = client.agent.biased();
  if (biased.empty()) return;
  const uint32_t id = std::next(biased.begin(), Below(static_cast<uint32_t>(biased.size())))->first;
  if (client.agent.Holds(id)) return EndOrBias(client, id);
  if (Below(6) == 0) return client.agent.FreeBiased(id);
  const bool is_exclusive = Below(2) == 0;
  const std::u16string name = client.biased_names.at(id);
  if (!client.agent.AcquireBiased(id, is_exclusive ? LockMode::kExclusive : LockMode::kShared)) {
    return client.agent.FreeBiased(id);
  }
  ++takes_;
  const ModelRequest request{
      .id = id, .agent = client.agent.ref().index, .is_exclusive = is_exclusive};
  if (model_.Request(name, request, false, false) != RequestOutcome::kGranted) {
    Fail("a biased name was taken that was not free");
  }
}

void RandomHistory::EndAgent(Client& client) {
  const AgentRef agent = client.agent.ref();
  if (!client.agent.lock_table().TerminateAgent(agent, kShardTimeoutNs).ok())
    Fail("an agent could not end");
  machine_.segment().agent(agent.index).owner.Set(0);
  model_.TerminateAgent(agent.index);
  std::erase_if(clients_, [&](const auto& other) { return other.get() == &client; });
  if (clients_.empty()) Populate();
}

void RandomHistory::TakeEvents(Client& client) {
  if (!client.agent.TakeEvents().ok()) Fail("events could not be taken");
  if (client.agent.MissesContention()) Fail("a holder is not notified of a waiter");
  const auto all_lost = model_.lost();
  for (const ReferenceModel::Lost& lost : all_lost) {
    if (lost.request.agent == client.agent.ref().index) model_.End(lost.request.id);
  }
  client.agent.FallAsleep();
  client.is_woken = client.agent.HasEvents();
}

void RandomHistory::CompareSnapshot(Client& client) {
  core::LockTable lock_table = client.agent.lock_table();
  const Result<core::Snapshot> snapshot = core::TakeSnapshot(lock_table, kShardTimeoutNs);
  if (!snapshot.ok()) return Fail("no snapshot could be taken");
  size_t held = 0;
  size_t pending = 0;
  for (const auto& [name, resource] : model_.resources()) {
    held += resource.held.size();
    pending += resource.queue.size();
  }
  if (snapshot->held.size() != held || snapshot->pending.size() != pending) {
    Fail("a snapshot shows something else than the model");
  }
}

void RandomHistory::Repair(Client& client) {
  const uint32_t shard = Below(machine_.segment().geometry().shards);
  machine_.segment().shard(shard).dirty.Set(1);
  core::WakeQueue wake_queue(machine_.segment(), machine_.host());
  if (!client.agent.lock_table().Enter(shard, wake_queue, kShardTimeoutNs).ok()) Fail("no repair");
}

void RandomHistory::KillBetweenOperations(Client& client) {
  const ProcessRef dead = client.agent.ref().process;
  if (processes_.size() < 3) return;
  model_ = Without(model_, dead);
  CleanUp(dead);
}

void RandomHistory::KillInsideAnOperation(Client& client) {
  const ProcessRef dead = client.agent.ref().process;
  if (processes_.size() < 3 || clients_.size() < 3) return;
  const ReferenceModel before = model_;
  const std::vector<Frame> frames = FramesOf(machine_, [&] {
    switch (Below(8)) {
      case 0:
      case 1:
        TakeEvents(client);
        break;
      case 2:
      case 3:
        EnforceHoldLimits(client);
        break;
      default:
        const uint32_t dice = Below(4);
        if (dice == 0) Request(client);
        if (dice == 1) EndOne(client);
        if (dice == 2) UseBiased(client);
        if (dice == 3) ChangePriority(client);
    }
  });
  const Frame& frame = frames[Below(static_cast<uint32_t>(frames.size()))];
  machine_.Restore(frame.image);
  machine_.host().ForgetRings();
  WakeTheRung(frame.rings);
  const ReferenceModel undone = Without(before, dead);
  model_ = Without(model_, dead);
  CleanUp(dead);
  const ReferenceModel records = ReferenceModel::Read(machine_.segment());
  if (records == undone) model_ = undone;
  model_.TakeOvertakesFrom(records);
}

ReferenceModel RandomHistory::Without(ReferenceModel model, ProcessRef dead) const {
  for (const auto& client : clients_) {
    if (client->agent.ref().process == dead) model.TerminateAgent(client->agent.ref().index);
  }
  return model;
}

void RandomHistory::CleanUp(ProcessRef dead) {
  machine_.Kill(dead);
  std::erase(processes_, dead);
  std::erase_if(clients_,
                [dead](const auto& client) { return client->agent.ref().process == dead; });
  core::LockTable rescuer = machine_.LockTableOf(processes_[0]);
  if (!rescuer.Reap(dead, kShardTimeoutNs).ok()) Fail("no clean-up");
  if (clients_.empty()) Populate();
}

void RandomHistory::WakeTheRung(const std::vector<AgentRef>& rings) {
  for (const auto& client : clients_) {
    if (Has(rings, client->agent.ref())) client->is_woken = true;
  }
}

bool RandomHistory::KnowsTheTruth(const Client& client) const {
  for (const auto& [id, mine] : client.agent.mine()) {
    if (mine.is_held ? !model_.IsHeld(id) : !model_.IsQueued(id)) return false;
  }
  return true;
}

// An agent that was not woken must know everything about its requests.
void RandomHistory::CheckEverything() {
  for (const std::string& violation : segment::CheckInvariants(machine_.segment())) Fail(violation);
  const ReferenceModel records = ReferenceModel::Read(machine_.segment());
  if (!(records == model_)) {
    Fail("the records are not as in the model:\n" + records.ToString() + "\nmodel:\n" +
         model_.ToString());
  }
  if (!model_.HasOvertakesOf(records)) Fail("the overtakes are not counted as in the model");
  for (const auto& client : clients_) {
    if (!client->is_woken && !KnowsTheTruth(*client)) Fail("an agent sleeps and has events");
  }
}

}  // namespace holdfast::test
