#include "core/random_history.h"

#include <algorithm>

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

const std::u16string kNames[] = {u"", u"n", u"m", u"o", std::u16string(100, u'l')};

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
  machine_.environment().ForgetRings();
  Client& client = AnyClient();
  const uint32_t dice = Below(100);
  if (dice < 70) {
    Operate(client);
  } else if (dice < 79) {
    TakeNews(client);
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
  WakeTheRung(machine_.environment().Rings());
  CheckEverything();
}

void RandomHistory::Operate(Client& client) {
  const uint32_t dice = Below(100);
  if (dice < 55) {
    Ask(client);
  } else if (dice < 97) {
    EndOne(client);
  } else {
    EndAgent(client);
  }
}

void RandomHistory::Ask(Client& client) {
  const bool is_shared = Below(2) == 0;
  const bool if_available = Below(5) == 0;
  const bool steal = !is_shared && !if_available && Below(5) == 0;
  const Options options{is_shared ? LockMode::kShared : LockMode::kExclusive, if_available, steal};
  const std::u16string& name = kNames[Below(std::size(kNames))];
  const uint32_t id = ++last_id_;
  const Result<core::Placement> placement = client.agent.Request(id, name, options);
  if (!placement.ok()) {
    if (placement.status().code() != StatusCode::kSegmentFull) Fail("a request failed");
    return;
  }
  const ModelRequest request{id, client.agent.ref().index, !is_shared};
  if (model_.Ask(name, request, if_available, steal) != placement->outcome) {
    Fail("a request had another outcome than in the model");
  }
}

void RandomHistory::EndOne(Client& client) {
  const auto& mine = client.agent.mine();
  if (mine.empty()) return;
  const uint32_t id = std::next(mine.begin(), Below(static_cast<uint32_t>(mine.size())))->first;
  if (!client.agent.End(id).ok()) Fail("a request could not be ended");
  model_.End(id);
}

void RandomHistory::EndAgent(Client& client) {
  const AgentRef agent = client.agent.ref();
  if (!client.agent.manager().TerminateAgent(agent, kBudgetNs).ok()) Fail("an agent could not end");
  machine_.segment().agent(agent.index).owner.Set(0);
  model_.TerminateAgent(agent.index);
  std::erase_if(clients_, [&](const auto& other) { return other.get() == &client; });
  if (clients_.empty()) Populate();
}

void RandomHistory::TakeNews(Client& client) {
  if (!client.agent.TakeNews().ok()) Fail("news could not be taken");
  const auto stolen = model_.stolen();
  for (const ModelRequest& request : stolen) {
    if (request.agent == client.agent.ref().index) model_.End(request.id);
  }
  client.agent.FallAsleep();
  client.is_woken = client.agent.HasNews();
}

void RandomHistory::CompareSnapshot(Client& client) {
  core::LockManager manager = client.agent.manager();
  const Result<core::Snapshot> snapshot = core::TakeSnapshot(manager, kBudgetNs);
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
  core::Notices notices(machine_.segment(), machine_.environment());
  if (!client.agent.manager().Enter(shard, notices, kBudgetNs).ok()) Fail("no repair");
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
  const std::vector<Frame> frames = [&] {
    const StoreRecorder recorder(machine_);
    Below(4) == 0 ? TakeNews(client) : (Below(2) == 0 ? Ask(client) : EndOne(client));
    return recorder.frames();
  }();
  const Frame& frame = frames[Below(static_cast<uint32_t>(frames.size()))];
  machine_.Restore(frame.image);
  machine_.environment().ForgetRings();
  WakeTheRung(frame.rings);
  const ReferenceModel undone = Without(before, dead);
  model_ = Without(model_, dead);
  CleanUp(dead);
  if (ReferenceModel::Read(machine_.segment()) == undone) model_ = undone;
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
  core::LockManager rescuer = machine_.ManagerOf(processes_[0]);
  if (!rescuer.TerminateProcess(dead, kBudgetNs).ok()) Fail("no clean-up");
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

// An agent that nobody woke must know everything about its requests.
void RandomHistory::CheckEverything() {
  for (const std::string& violation : segment::CheckInvariants(machine_.segment())) Fail(violation);
  const ReferenceModel records = ReferenceModel::Read(machine_.segment());
  if (!(records == model_)) {
    Fail("the records are not as in the model:\n" + records.ToString() + "\nmodel:\n" +
         model_.ToString());
  }
  for (const auto& client : clients_) {
    if (!client->is_woken && !KnowsTheTruth(*client)) Fail("an agent sleeps and has news");
  }
}

}  // namespace holdfast::test
