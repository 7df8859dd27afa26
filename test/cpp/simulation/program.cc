#include "simulation/program.h"

#include <algorithm>
#include <utility>

namespace holdfast::test {
namespace {

// Longer than a watcher waits for an unfinished entry, and than a living process is taken for the
// owner of a shard (OwnerChallenge: half a second). A release may come then.
constexpr uint64_t kWatchQuietNs = 700'000'000;

}  // namespace

using core::RequestEvent;
using core::RequestOutcome;

std::u16string SimulatedName(uint32_t number) {
  if (number == 0) return std::u16string(40, u'l');  // more than one cell
  return std::u16string(1, static_cast<char16_t>(u'a' + number));
}

Program::Program(World& world, SimProcess& process, LockLog& log, WatchRecord& watch_ring,
                 const Habits& habits)
    : world_(world), process_(process), log_(log), watch_ring_(watch_ring), habits_(habits) {}

void Program::Run() {
  const core::AttachOptions options{"/simulated", "bucket", SimulatedCapacity(), false};
  const uint64_t client_id[2] = {process_.id, world_.now_ns()};
  Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(options, client_id);
  if (agent.ok()) {
    agent_ = std::move(*agent);
    agent_->SetBiasObserver(this);
    doorbell_ = world_.kernel().At(agent_->doorbell_fd()).fifo;
    while (!is_leaving_ && !world_.IsGhost()) Turn();
    if (!world_.IsGhost()) {
      for (const auto& [id, mine] : mine_) log_.Ended(mine.number);
    }
    mine_.clear();
    agent_.reset();
  } else if (agent.status().code() != StatusCode::kTooManyAgents) {
    Fail(std::string("cannot attach: ") + agent.status().reason());
  }
  is_done_ = true;
}

void Program::BeQuiet() {
  is_quiet_ = true;
  watches_until_ns_ = world_.now_ns() + kWatchQuietNs;
  for (auto& [id, mine] : mine_) {
    if (mine.is_watching) mine.until_ns = watches_until_ns_;
  }
  // The deadline does not wake the program: it would then find events without a ring.
  if (doorbell_ != nullptr) world_.SetDeadline(doorbell_.get(), NextTimer());
}

void Program::Probe() {
  is_to_probe_ = true;
  world_.Wake(doorbell_.get());
}

void Program::Leave() {
  is_leaving_ = true;
  world_.Wake(doorbell_.get());
}

// As binding/agent_wrap.cc: timers, then OnPrepare, the poll, OnDoorbell, OnCheck.
void Program::Turn() {
  Work();
  agent_->BeginTurn();
  Deliver();
  while (agent_->AwaitEvents()) Deliver();
  if (agent_->GoToSleep()) Sleep();
  if (doorbell_->is_rung) {
    agent_->WakeUp();
    agent_->OnDoorbellRung();
    Deliver();
  }
  agent_->WakeUp();
  Deliver();
}

void Program::Sleep() {
  if (doorbell_->is_rung || is_leaving_ || is_to_probe_ || world_.IsGhost()) return;
  world_.Sleep(doorbell_.get(), NextTimer());
}

uint64_t Program::NextTimer() const {
  uint64_t next_ns = !is_quiet_ && habits_.requests > 0 ? next_request_ns_ : World::kForever;
  for (const auto& [id, mine] : mine_) next_ns = std::min(next_ns, mine.until_ns);
  const bool is_watching =
      watching_ != nullptr && (!is_quiet_ || world_.now_ns() < watches_until_ns_);
  if (is_watching) next_ns = std::min(next_ns, watching_->next_read_ns());
  return next_ns;
}

void Program::Work() {
  EndWhatIsDue();
  if (habits_.watches) Watch();
  if (std::exchange(is_to_probe_, false)) {
    core::RequestParams request;
    request.max_pending = 0;
    for (uint32_t name = 0; name < kSimulatedNames; ++name) RequestName(name, request);
  }
  if (is_quiet_ || habits_.requests == 0 || world_.now_ns() < next_request_ns_) return;
  do {
    --habits_.requests;
    Request();
  } while (habits_.requests > 0 && world_.OneIn(3));
  if (habits_.has_priorities && world_.OneIn(4)) ChangePriority();
  next_request_ns_ = world_.now_ns() + world_.Below(static_cast<uint32_t>(habits_.rest_ns));
}

void Program::Watch() {
  if (watching_ == nullptr) {
    if (is_quiet_ || !world_.OneIn(6)) return;
    std::optional<std::u16string> name;
    if (world_.OneIn(3)) name = SimulatedName(world_.Below(kSimulatedNames));
    watching_ = std::make_unique<Watching>(world_, watch_ring_, log_, std::move(name));
    watching_->Open(*agent_);
  } else if (world_.now_ns() >= watching_->next_read_ns()) {
    watching_->Read(*agent_, is_quiet_);
  } else if (!is_quiet_ && world_.OneIn(40)) {
    watching_->Close(*agent_);
    if (watching_->fault().empty()) return watching_.reset();
  }
  if (!watching_->fault().empty()) Fail(watching_->fault());
}

void Program::Request() {
  core::RequestParams request;
  request.mode = world_.OneIn(3) ? LockMode::kShared : LockMode::kExclusive;
  if (world_.OneIn(4)) request.max_pending = world_.Below(3);
  if (habits_.has_priorities) request.priority = ToPriority(world_.Below(3));
  const bool may_be_missed = request.max_pending != core::kAnyNumber;
  request.steal =
      habits_.steals && !may_be_missed && request.mode == LockMode::kExclusive && world_.OneIn(4);
  const bool repeats = !biased_.empty() && world_.OneIn(2);
  RequestName(repeats ? biased_.begin()->first : world_.Below(kSimulatedNames), request);
}

// Of the first of its requests that waits.
void Program::ChangePriority() {
  for (const auto& [id, mine] : mine_) {
    if (mine.is_held) continue;
    const Priority priority = ToPriority(world_.Below(3));
    log_.Changing(mine.number, priority);
    return agent_->ChangePriority(id, priority);
  }
}

void Program::RequestName(uint32_t name, core::RequestParams request) {
  const LockLog::Number number = log_.Begin(
      {process_.id, name, request.mode == LockMode::kExclusive, request.steal, request.priority});
  if (AcquireBiased(name, request, number) || world_.IsGhost()) return;
  const std::u16string units = SimulatedName(name);
  const segment::ResourceName resource(units.data(), static_cast<uint32_t>(units.size()));
  const Result<core::Agent::Answer> answer = agent_->Request(resource, request);
  if (world_.IsGhost()) return;
  if (!answer.ok() || answer->outcome == RequestOutcome::kMissed) {
    const bool is_full = IsForWantOfRoom(answer.status());
    if (!answer.ok() && !is_full) Fail(std::string("refused: ") + answer.status().reason());
    return log_.Ended(number);
  }
  Mine& mine = mine_[answer->id];
  mine = {number, false, World::kForever, false, name};
  if (answer->outcome == RequestOutcome::kGranted) return Hold(answer->id, mine, answer->token);
  if (request.max_pending == core::kAnyNumber) log_.Queued(number);
  if (world_.OneIn(5)) {
    mine.until_ns = world_.now_ns() + world_.Below(static_cast<uint32_t>(habits_.hold_ns));
  }
}

void Program::Hold(uint32_t id, Mine& mine, uint64_t token) {
  log_.Granted(mine.number, token);
  mine.is_held = true;
  mine.until_ns = world_.now_ns() + world_.Below(static_cast<uint32_t>(habits_.hold_ns));
  if (is_quiet_ || !world_.OneIn(4)) return;
  const segment::Contention contention = agent_->WatchContention(id);
  if (world_.IsGhost()) return;
  mine.contention = contention;
  if (contention != segment::Contention::kNone || is_quiet_) return;
  mine.is_watching = true;
  mine.until_ns = World::kForever;
}

// If another priority waits than its last notice said, a notice was lost, unless the shard is
// locked, has to be repaired, or was locked in the last rescan: then the notice follows.
void Program::CheckContention(uint32_t id) {
  if (agent_->WatchContention(id) == mine_.at(id).contention || world_.IsGhost()) return;
  const std::u16string units = SimulatedName(mine_.at(id).name);
  const segment::ResourceName name(units.data(), static_cast<uint32_t>(units.size()));
  const bool is_readable = agent_->HoldersOf(name, 1).ok();
  if (!world_.IsGhost() && is_readable && !agent_->HasEvents() && !agent_->AwaitsRescan()) {
    Fail("was not notified of the priority that waits");
  }
}

void Program::EndWhatIsDue() {
  std::vector<uint32_t> due;
  for (const auto& [id, mine] : mine_) {
    if (mine.until_ns <= world_.now_ns()) due.push_back(id);
  }
  for (const uint32_t id : due) {
    const bool is_watching = mine_.at(id).contention != segment::Contention::kUnwatched;
    if (is_watching && !world_.IsGhost()) CheckContention(id);
    if (!world_.IsGhost()) End(id);
  }
}

void Program::End(uint32_t id) {
  Mine& mine = mine_.at(id);
  const LockLog::Number number = mine.number;
  log_.Ended(number);
  log_.Ending(number);
  mine.is_leaving = true;
  mine.until_ns = World::kForever;
  if (ReleaseBiased(id)) {
    if (world_.IsGhost()) return;
    log_.Answered(number, false);
    mine_.erase(id);
    return;
  }
  if (world_.IsGhost()) return;
  const core::Loss loss = Release(id, mine);
  if (world_.IsGhost() || loss == core::Loss::kUnknown) return;
  if (loss == core::Loss::kCorrupted) return Fail("a lock had no record any more");
  log_.Answered(number, loss != core::Loss::kNone);
  mine_.erase(id);
}

// As lib/backends/shared-memory/biased-locks.js. False: the request goes the ordinary way.
bool Program::AcquireBiased(uint32_t name, const core::RequestParams& request,
                            LockLog::Number number) {
  const auto found = biased_.find(name);
  if (found == biased_.end() || request.steal || !agent_->CheckUsable().ok()) return false;
  const BiasedLock biased = found->second;
  if (mine_.contains(biased.id)) return false;  // it waits for its own agent
  const uint64_t token = agent_->AcquireBiased(biased.slot, request.mode);
  if (world_.IsGhost()) return true;
  if (token == 0) {
    agent_->Abandon(biased.id, core::EndReason::kReleased);
    return false;
  }
  ++takes_;
  Mine& mine = mine_[biased.id];
  mine = {number, false, World::kForever, false, name};
  Hold(biased.id, mine, token);
  return true;
}

bool Program::ReleaseBiased(uint32_t id) {
  const auto biased = biased_.find(mine_.at(id).name);
  return biased != biased_.end() && biased->second.id == id &&
         agent_->ReleaseBiased(biased->second.slot);
}

core::Loss Program::Release(uint32_t id, const Mine& mine) {
  const uint32_t name = mine.name;
  if (!habits_.keeps || biased_.contains(name)) return agent_->End(id);
  const core::Agent::Released released = agent_->EndOrBias(id);
  if (!world_.IsGhost() && released.slot != core::BiasedSlots::kNone)
    biased_[name] = {id, released.slot};
  return released.loss;
}

void Program::OnBiasedSlotFreed(uint32_t slot) {
  std::erase_if(biased_, [slot](const auto& biased) { return biased.second.slot == slot; });
}

void Program::Deliver() {
  do {
    events_.clear();
    agent_->TakeEvents(events_);
    for (const RequestEvent& events : events_) {
      if (world_.IsGhost()) return;
      Read(events);
    }
    if (world_.IsGhost()) return;
  } while (agent_->HasEvents());
}

void Program::Read(const RequestEvent& events) {
  const auto it = mine_.find(events.id);
  if (it == mine_.end()) return Fail("events of a request that it does not have");
  Mine& mine = it->second;
  if (mine.is_leaving) {
    const bool is_loss = events.kind == RequestEvent::Kind::kLost;
    if (!is_loss && events.kind != RequestEvent::Kind::kReleased) return Fail("an odd end");
    log_.Answered(mine.number, is_loss);
    mine_.erase(it);
    return;
  }
  switch (events.kind) {
    case RequestEvent::Kind::kGranted:
      if (mine.is_held) return Fail("granted twice");
      return Hold(events.id, mine, events.token);
    case RequestEvent::Kind::kLost:
    case RequestEvent::Kind::kExpired:
      log_.Lost(mine.number);
      break;
    case RequestEvent::Kind::kFailed:
      if (!IsForWantOfRoom(events.status)) {
        Fail(std::string("failed: ") + events.status.reason());
      }
      log_.Ended(mine.number);
      break;
    case RequestEvent::Kind::kMissed:
      log_.Ended(mine.number);
      break;
    case RequestEvent::Kind::kCorrupted:
      return Fail("a lock has no record any more");
    case RequestEvent::Kind::kReleased:
      return Fail("the end of a request that was not ended");
    case RequestEvent::Kind::kStalled:
      return;  // it still waits
    case RequestEvent::Kind::kContended:
      if (!mine.is_held) return Fail("contended without a lock");
      mine.contention = static_cast<segment::Contention>(events.token);
      if (!mine.is_watching || mine.contention == segment::Contention::kNone) return;
      mine.until_ns = world_.now_ns();
      // At times it waits for further notices.
      if (world_.OneIn(2)) {
        mine.until_ns += world_.Below(static_cast<uint32_t>(habits_.hold_ns));
      }
      mine.is_watching = false;
      return;
  }
  mine_.erase(it);
}

std::string Program::WhatItWaitsFor() const {
  std::string text;
  for (const auto& [id, mine] : mine_) {
    if (mine.is_held) continue;
    text += " request " + std::to_string(id) + " of agent " + std::to_string(agent_->ref().index) +
            " of process " + std::to_string(process_.id);
  }
  return text;
}

}  // namespace holdfast::test
