#include "stress/stress_program.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "platform/clock.h"

namespace holdfast::test {

using core::RequestEvent;
using core::RequestOutcome;

namespace {

constexpr uint64_t kCapacity = segment::kMinCapacity;
constexpr uint64_t kNsPerUs = 1000;
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint64_t kHoldLimitNs = 2 * kNsPerMs;

}  // namespace

StressProgram::StressProgram(StressControl& control, StressLog& log, const Setup& setup)
    : control_(control), log_(log), setup_(setup), random_(setup.seed) {}

void StressProgram::Run() {
  core::AttachOptions options;
  options.directory = setup_.directory;
  options.bucket = "stress";
  options.capacity = kCapacity;
  options.sweeps = false;
  const uint64_t client_id[2] = {setup_.process, setup_.seat};
  Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(options, client_id);
  if (!agent.ok()) return log_.Fail(agent.status().reason());
  agent_ = std::move(*agent);
  while (!IsLeaving()) Turn();
  for (const auto& [id, mine] : mine_) {
    if (mine.is_held) log_.Write(StressEvent::kLeave, mine.entry);
  }
  agent_.reset();
}

// As binding/agent_wrap.cc: timers, events, sleep, events.
void StressProgram::Turn() {
  Work();
  agent_->BeginTurn();
  Deliver();
  ReportIfIdle();
  if (agent_->GoToSleep()) Sleep();
  agent_->WakeUp();
  Deliver();
}

void StressProgram::ReportIfIdle() {
  const uint32_t round = control_.round.load();
  if (round % 2 == 1 && mine_.empty()) control_.seats[setup_.seat].idle_in.store(round);
}

// Woken by its doorbell, by the director, or by its own timers, and by nothing else.
void StressProgram::Sleep() {
  uint64_t until_ns = UINT64_MAX;
  for (const auto& [id, mine] : mine_) until_ns = std::min(until_ns, mine.until_ns);
  if (!control_.IsQuiet()) until_ns = std::min(until_ns, next_request_ns_);
  const uint64_t now_ns = platform::MonotonicNs();
  if (until_ns <= now_ns) return;
  const uint64_t wait_ns = until_ns - now_ns;
  const timespec wait = {static_cast<time_t>(wait_ns / kNsPerSecond),
                         static_cast<long>(wait_ns % kNsPerSecond)};
  pollfd fds[] = {{agent_->doorbell_fd(), POLLIN, 0}, {setup_.call_fd, POLLIN, 0}};
  if (ppoll(fds, 2, until_ns == UINT64_MAX ? nullptr : &wait, nullptr) <= 0) return;
  if (fds[0].revents != 0) {
    agent_->WakeUp();
    agent_->OnDoorbellRung();
  }
  char calls[64];
  if (fds[1].revents != 0) (void)!read(setup_.call_fd, calls, sizeof(calls));
}

void StressProgram::Work() {
  EndWhatIsDue();
  if (control_.IsQuiet() || log_.IsNearlyFull() || platform::MonotonicNs() < next_request_ns_) {
    if (log_.IsNearlyFull()) next_request_ns_ = platform::MonotonicNs() + kNsPerMs;
    return;
  }
  const uint32_t count = 1 + Below(6);
  for (uint32_t i = 0; i < count && mine_.size() < 8; ++i) Request();
  next_request_ns_ = OneIn(20) ? platform::MonotonicNs() + Below(300) * kNsPerUs : 0;
}

core::RequestParams StressProgram::DrawRequest(uint32_t name) {
  core::RequestParams request;
  request.mode = OneIn(3) ? LockMode::kShared : LockMode::kExclusive;
  if (OneIn(4)) request.max_pending = Below(3);
  if (OneIn(2)) request.priority = ToPriority(Below(3));
  request.steal = name == kStolenName && request.max_pending == core::kAnyNumber &&
                  request.mode == LockMode::kExclusive && OneIn(4);
  if (request.mode == LockMode::kShared && OneIn(2)) request.limit = 1 + Below(4);
  if (name == kExpiringName && OneIn(2)) request.hold_limit_ns = kHoldLimitNs;
  if (OneIn(4)) request.label = u"a label that needs more than one cell, because it is this long";
  return request;
}

void StressProgram::Request() {
  const uint32_t name = Below(kStressNames);
  core::RequestParams request = DrawRequest(name);
  StressEntry entry;
  entry.process = setup_.process;
  entry.agent = setup_.process * kStressThreads + setup_.seat % kStressThreads;
  entry.name = name;
  entry.limit = request.limit;
  entry.is_exclusive = request.mode == LockMode::kExclusive;
  entry.steals = request.steal;
  entry.priority = request.priority;
  entry.hold_limit_ns = request.hold_limit_ns;
  entry.requested_ns = platform::MonotonicNs();
  if (entry.steals) log_.Write(StressEvent::kStealBegins, entry);
  const std::u16string units = StressName(name);
  const segment::ResourceName resource(units.data(), static_cast<uint32_t>(units.size()));
  const Result<core::Agent::Answer> answer = agent_->Request(resource, request);
  if (!answer.ok()) return log_.Fail(answer.status().reason());
  if (answer->outcome != RequestOutcome::kMissed) Adopt(*answer, entry);
}

void StressProgram::Adopt(const core::Agent::Answer& answer, const StressEntry& entry) {
  Mine& mine = mine_[answer.id];
  mine = {entry};
  if (answer.outcome == RequestOutcome::kGranted) return Hold(answer.id, mine, answer.token);
  if (OneIn(16)) {
    const Priority priority = ToPriority(Below(3));
    mine.entry.has_changed = true;
    mine.entry.has_fallen = priority < entry.priority;
    agent_->ChangePriority(answer.id, priority);
  }
  // An abort, or a time-out.
  if (OneIn(4)) mine.until_ns = platform::MonotonicNs() + Below(500) * kNsPerUs;
}

void StressProgram::Hold(uint32_t id, Mine& mine, uint64_t token) {
  mine.entry.token = token;
  mine.entry.ticket = agent_->RecordOf(id).ticket;
  mine.entry.now_ns = platform::MonotonicNs();
  log_.Write(StressEvent::kEnter, mine.entry);
  mine.is_held = true;
  // Mostly shortly; now and then for longer than the hold limit.
  const uint64_t hold_us = OneIn(200) ? Below(5000) : OneIn(8) ? Below(100) : 0;
  mine.until_ns = mine.entry.now_ns + hold_us * kNsPerUs;
  if (control_.IsQuiet() || !OneIn(16)) return;
  mine.contention = agent_->WatchContention(id);
  mine.is_watching = mine.contention == segment::Contention::kNone;
  if (mine.is_watching) mine.until_ns = UINT64_MAX;
}

void StressProgram::EndWhatIsDue() {
  const uint64_t now_ns = platform::MonotonicNs();
  const bool is_quiet = control_.IsQuiet();
  std::vector<uint32_t> due;
  for (auto& [id, mine] : mine_) {
    // No request is given up in the quiet: each waiter has to be notified.
    if (is_quiet && !mine.is_held) mine.until_ns = UINT64_MAX;
    if (is_quiet && mine.is_watching) mine.until_ns = 0;
    if (mine.until_ns <= now_ns) due.push_back(id);
  }
  for (const uint32_t id : due) {
    const Mine& mine = mine_.at(id);
    if (mine.contention != segment::Contention::kUnwatched) CheckContention(id, mine);
    End(id);
  }
}

// If another priority waits than its last notice said, a notice was lost, unless the shard is
// locked, has to be repaired, or was locked in the last rescan: then the notice follows.
void StressProgram::CheckContention(uint32_t id, const Mine& mine) {
  if (agent_->WatchContention(id) == mine.contention) return;
  const std::u16string units = StressName(mine.entry.name);
  const segment::ResourceName name(units.data(), static_cast<uint32_t>(units.size()));
  const bool is_readable = agent_->HoldersOf(name, 1).ok();
  if (is_readable && !agent_->HasEvents() && !agent_->AwaitsRescan()) {
    log_.Fail("was not notified of the priority that waits");
  }
}

void StressProgram::End(uint32_t id) {
  Mine& mine = mine_.at(id);
  if (mine.is_held) log_.Write(StressEvent::kLeave, mine.entry);
  const core::Loss loss = agent_->End(id);
  if (loss == core::Loss::kUnknown) {
    mine.is_held = false;
    mine.is_leaving = true;
    mine.is_watching = false;  // else the quiet ends it once more
    mine.until_ns = UINT64_MAX;
    return;
  }
  if (loss == core::Loss::kCorrupted) log_.Fail("a lock had no record any more");
  if (mine.is_held && loss != core::Loss::kNone) CheckLoss(mine, loss == core::Loss::kExpired);
  mine_.erase(id);
}

void StressProgram::Deliver() {
  do {
    events_.clear();
    agent_->TakeEvents(events_);
    for (const RequestEvent& events : events_) Read(events);
  } while (agent_->HasEvents());
}

void StressProgram::Read(const RequestEvent& events) {
  const auto it = mine_.find(events.id);
  if (it == mine_.end()) return log_.Fail("events of a request that is not there");
  Mine& mine = it->second;
  switch (events.kind) {
    case RequestEvent::Kind::kGranted:
      if (mine.is_held || mine.is_leaving) return log_.Fail("granted twice");
      return Hold(events.id, mine, events.token);
    case RequestEvent::Kind::kLost:
    case RequestEvent::Kind::kExpired:
      CheckLoss(mine, events.kind == RequestEvent::Kind::kExpired);
      if (mine.is_held) log_.Write(StressEvent::kLeave, mine.entry);
      break;
    case RequestEvent::Kind::kFailed:
      log_.Fail(events.status.reason());
      break;
    case RequestEvent::Kind::kCorrupted:
      log_.Fail("a lock has no record any more");
      break;
    case RequestEvent::Kind::kReleased:
      if (!mine.is_leaving) return log_.Fail("event of a release that it did not request");
      break;
    case RequestEvent::Kind::kMissed:
      break;
    case RequestEvent::Kind::kStalled:
      return;  // it still waits
    case RequestEvent::Kind::kContended:
      mine.contention = static_cast<segment::Contention>(events.token);
      if (!mine.is_watching || mine.contention == segment::Contention::kNone) return;
      // At times it waits for further notices.
      mine.until_ns = platform::MonotonicNs() + (OneIn(2) ? Below(100) * kNsPerUs : 0);
      mine.is_watching = false;
      return;
  }
  mine_.erase(it);
}

void StressProgram::CheckLoss(const Mine& mine, bool is_expired) {
  const uint64_t since_ns = platform::MonotonicNs() - mine.entry.requested_ns;
  const bool may_expire = mine.entry.hold_limit_ns != 0 && since_ns >= mine.entry.hold_limit_ns;
  if (is_expired && !may_expire) log_.Fail("a lock was lost before its time");
  if (!is_expired && mine.entry.name != kStolenName) log_.Fail("a lock was lost without a stealer");
}

}  // namespace holdfast::test
