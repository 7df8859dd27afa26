// How an agent takes the events of its requests, and sleeps until there are some.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/agent.h"
#include "core/shard_timeouts.h"
#include "segment/event_list.h"
#include "segment/false_owner.h"

namespace holdfast::core {

using segment::CellState;
using segment::kNoCell;

namespace {

// The records that a rescan reads in one turn of the loop, about.
constexpr size_t kRecordsPerRescan = 1000;

// The event that decides a request is taken out of `events`.
std::optional<RequestEvent> TakeDecision(uint32_t id, std::vector<RequestEvent>& events) {
  const auto decision = std::find_if(events.begin(), events.end(), [id](const RequestEvent& event) {
    return event.id == id && event.kind != RequestEvent::Kind::kStalled;
  });
  if (decision == events.end()) return std::nullopt;
  const RequestEvent found = *decision;
  events.erase(decision);
  return found;
}

}  // namespace

bool Agent::HasEvents() const {
  return segment::HasEvents(entry_) || visit_log_->has_news.load() || rescan_.is_running;
}

// Announces its sleep, then rechecks; a peer adds its event, then checks for a sleeper. Each sleep
// has a number, so that a ring for an earlier sleep does not count for this sleep. Rings for
// earlier sleeps are drained first, so that a ring for this sleep stays.
bool Agent::GoToSleep() {
  DrainDoorbell();
  if (queued_ > 0) adaptive_spin_.FallingAsleep();
  sleep_ = sleep_ % (segment::kRung - 1) + 1;
  entry_.sleeping.Exchange(sleep_);
  if (!HasEvents()) return true;
  entry_.sleeping.Exchange(0);
  return false;
}

void Agent::DrainDoorbell() {
  if (std::exchange(is_rung_, false)) doorbell_.Drain();
}

void Agent::RingSelf() {
  attachment_->host().Ring(self_);
  entry_.sleeping.Exchange(sleep_ | segment::kRung);
}

void Agent::WakeUp() {
  entry_.sleeping.Exchange(0);
  adaptive_spin_.Woken();
}

std::optional<RequestEvent> Agent::LookFor(uint32_t id, std::vector<RequestEvent>& others) {
  if (!HasEvents() && !AwaitEvents()) return std::nullopt;
  TakeEvents(others);
  return TakeDecision(id, others);
}

std::optional<RequestEvent> Agent::WaitFor(uint32_t id, uint64_t timeout_ns,
                                           std::vector<RequestEvent>& others) {
  const uint64_t end_ns = attachment_->host().MonotonicNs() + timeout_ns;
  for (;;) {
    TakeEvents(others);
    std::optional<RequestEvent> decision = TakeDecision(id, others);
    if (decision.has_value()) return decision;
    const uint64_t now_ns = attachment_->host().MonotonicNs();
    if (now_ns >= end_ns) return std::nullopt;
    if (AwaitEvents() || !GoToSleep()) continue;
    doorbell_.Wait(end_ns - now_ns);
    WakeUp();
    HearDoorbell();
  }
}

void Agent::TakeEvents(std::vector<RequestEvent>& events) {
  if (attachment_->IsForkedChild()) return;  // they are its parent's
  if (visit_log_->has_news.load()) ReadVisits(events);
  if (entry_.rescan.LoadSeqCst() != 0) BeginRescan();
  if (rescan_.is_running) Rescan(events);
  records_.clear();
  core::TakeEvents(attachment_->manager().segment(), self_.index, records_);
  if (entry_.answered.LoadSeqCst() != 0) ReadAnswers(events);
  if (!records_.empty()) adaptive_spin_.Heard();
  for (const RecordEvent& record : records_) Read(record, events);
  if (blocked_.empty()) return;
  attachment_->worker().UpdateBlockers(blocked_);
  blocked_.clear();
}

// Events may be missing: reads the records of all requests, a piece per call.
void Agent::BeginRescan() {
  entry_.rescan.Exchange(0);
  ++scan_;
  rescan_ = {};
  rescan_.is_running = true;
  // A peer may wait for a shard whose lock word names this process.
  segment::DisownShards(attachment_->manager().segment(), self_.process, attachment_->host());
}

void Agent::Rescan(std::vector<RequestEvent>& events) {
  segment::Segment& segment = attachment_->manager().segment();
  const uint32_t shards = segment.geometry().shards;
  std::vector<RecordEvent> found;
  std::vector<RecordEvent> popped;
  std::map<uint32_t, std::vector<RecordRef>> unknown;  // by shard
  while (rescan_.shard < shards && found.size() < kRecordsPerRescan) {
    const uint32_t shard = rescan_.shard;
    const bool has_records = segment.agent_list(self_.index, shard).Get() != kNoCell;
    const Status done = has_records ? attachment_->manager().Rescan(self_, shard, rescan_.position,
                                                                    found, popped, kNoWait)
                                    : Status();
    if (!done.ok()) RescanLater(shard);
    if (has_records && done.ok() && !rescan_.position.is_complete) continue;
    rescan_.position = {};
    ++rescan_.shard;
  }
  ReadAnswers(events);
  for (const RecordEvent& record : popped) {
    if (Entry* const entry = Find(record)) entry->scan = scan_;
    Read(record, events);
  }
  for (const RecordEvent& record : found) {
    if (Entry* const entry = Find(record)) entry->scan = scan_;
    Read(record, events);
    if (IsUnknown(record)) unknown[record.record.shard].push_back(record.record);
  }
  for (auto& [shard, records] : unknown) EndByWorker(shard, std::move(records));
  if (rescan_.shard < shards) return;
  rescan_.is_running = false;
  // A repair that came meanwhile has made the lists anew: another rescan follows.
  if (!rescan_.is_complete || entry_.rescan.LoadSeqCst() != 0) return;
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    const EntryState state = entries_[id].state;
    const bool is_gone = HasRecord(state) && entries_[id].scan != scan_;
    if (!is_gone) continue;
    // Its record was corrupted and dropped. If it exists after all, it must not hold a lock that no
    // request owns.
    const RecordRef record = entries_[id].record;
    FreeEntry(id);
    EndRecord(record);
    if (IsHolding(state)) {
      events.push_back({id, RequestEvent::Kind::kDamaged, 0, Status()});
    } else {
      events.push_back(
          {id, RequestEvent::Kind::kFailed, 0,
           Status(StatusCode::kSegmentBroken, "the record of the request was damaged")});
    }
  }
}

// The shard is busy. Once it is free, the doorbell makes this agent try again.
void Agent::RescanLater(uint32_t shard) {
  rescan_.is_complete = false;
  attachment_->worker().Defer(shard, this, [attachment = attachment_.get(), self = self_, shard] {
    WakeQueue wake_queue(attachment->manager().segment(), attachment->host());
    const auto lock = attachment->manager().Enter(shard, wake_queue, kWorkerTimeoutNs);
    if (!lock.ok()) return lock.status().code();
    attachment->manager().segment().agent(self.index).rescan.Exchange(1);
    wake_queue.Add(self.index);
    return StatusCode::kOk;
  });
}

Agent::Entry* Agent::Find(const RecordEvent& record) {
  if (record.request_id >= entries_.size()) return nullptr;
  Entry& entry = entries_[record.request_id];
  const bool is_same = HasRecord(entry.state) && entry.record.cell == record.record.cell &&
                       entry.record.ticket == record.record.ticket;
  return is_same ? &entry : nullptr;
}

// Whether a record that names this agent is none of its requests: corruption. No other process ends
// the record while this process lives, and its name would stay locked.
//
// REQUIRES: it was read inside its shard, and the answers after that: entering executes the intake,
// so the record of an operation has an entry now. The loss of a release that is awaited is read
// from its record, which the worker or the intake ends.
bool Agent::IsUnknown(const RecordEvent& record) {
  if (Find(record) != nullptr) return false;
  if (record.request_id >= entries_.size()) return true;
  const Entry& entry = entries_[record.request_id];
  const bool is_ending =
      entry.state == EntryState::kLeaving || entry.state == EntryState::kAbandoned;
  return !is_ending || entry.record.cell != record.record.cell ||
         entry.record.ticket != record.record.ticket;
}

// Ends records of a shard that no request owns: corruption may have made any number of them.
void Agent::EndByWorker(uint32_t shard, std::vector<RecordRef> records) {
  constexpr size_t kRecordsPerTask = 128;  // so that Close() does not wait for all of them
  // The worker copies a task before each attempt; all attempts share the rest.
  auto rest = std::make_shared<std::vector<RecordRef>>(std::move(records));
  attachment_->worker().Defer(shard, this, [attachment = attachment_.get(), rest] {
    for (size_t i = 0; i < kRecordsPerTask && !rest->empty(); ++i) {
      const Status ended = attachment->manager().End(rest->back(), kWorkerTimeoutNs).status();
      if (ended.code() == StatusCode::kBusy) return StatusCode::kBusy;
      rest->pop_back();
    }
    return rest->empty() ? StatusCode::kOk : StatusCode::kBusy;
  });
}

void Agent::Read(const RecordEvent& record, std::vector<RequestEvent>& events) {
  if (record.state == CellState::kZombie) {
    EndRecord(record.record);
    return;
  }
  Entry* const entry = Find(record);
  if (entry == nullptr) return;
  const uint32_t id = record.request_id;
  if (record.state == CellState::kHeld && entry->state == EntryState::kQueued) {
    SetState(id, EntryState::kHeld);
    events.push_back({id, RequestEvent::Kind::kGranted, record.token, Status()});
  } else if (segment::IsLost(record.state)) {
    const bool is_expired = record.state == CellState::kExpired;
    FreeEntry(id);
    EndRecord(record.record);
    events.push_back({id, is_expired ? RequestEvent::Kind::kExpired : RequestEvent::Kind::kLost,
                      record.token, Status()});
  } else if (record.state == CellState::kWaiting && record.may_be_blocked_by_others) {
    blocked_.push_back(record.record);
  }
}

}  // namespace holdfast::core
