#include "core/agent.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "core/blockers.h"
#include "core/self_deadlock.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/intake.h"

namespace holdfast::core {

using segment::AgentRef;
using segment::CellState;
using segment::kNoCell;
using segment::ProcessRef;

namespace {

// The maximum number of records per sweep: the thread has other work to do.
constexpr uint32_t kRecordsPerSweep = 1000;
constexpr uint64_t kAgentSweepNs = 1000 * kNsPerMs;

// Entries of the dead are free once their processes are reaped: this thread waits for the
// background worker while it finds some.
constexpr int kMaxReapWaits = 1000;
constexpr uint64_t kReapWaitNs = kNsPerMs;

Result<AgentRef> ClaimAgent(Attachment& attachment, const uint64_t (&client_id)[2],
                            uint32_t thread_id) {
  // As many as check all processes.
  const uint32_t looks =
      attachment.manager().segment().geometry().processes / Reaper::kMaxChecks + 1;
  uint32_t in_vain = 0;
  for (int waits = 0;; ++waits) {
    Result<AgentRef> agent = attachment.slots().ClaimAgent(client_id, thread_id);
    if (agent.status().code() != StatusCode::kTooManyAgents || waits == kMaxReapWaits) return agent;
    in_vain = attachment.worker().ReapDeadProcesses(Reaper::kMaxChecks) ? 0 : in_vain + 1;
    if (in_vain == looks) return agent;
    attachment.worker().RunInline();
    std::atomic<uint32_t> never{0};
    attachment.host().FutexWait(&never, 0, kReapWaitNs);
  }
}

// The number before the first sleep. It is far from the numbers of the entry's previous agents: a
// ringer that is about to mark a sleep of a previous agent must not mark a sleep of this agent.
uint32_t FirstSleep(uint32_t generation) {
  constexpr uint32_t kFarApart = 0x9e3779b1;  // odd, and 2^32 by the golden ratio
  return generation * kFarApart % segment::kRung;
}

}  // namespace

Agent::Agent(std::shared_ptr<Attachment> attachment, const AgentRef& self,
             platform::Doorbell doorbell)
    : attachment_(std::move(attachment)),
      self_(self),
      entry_(attachment_->manager().segment().agent(self.index)),
      doorbell_(std::move(doorbell)),
      adaptive_spin_(attachment_->manager().segment(), attachment_->host(), self.index),
      watches_(*attachment_, self_),
      sleep_(FirstSleep(self.generation)) {
  attachment_->worker().AddWaiter(waiter_);
}

Result<std::unique_ptr<Agent>> Agent::Open(const AttachOptions& options,
                                           const uint64_t (&client_id)[2]) {
  Result<std::shared_ptr<Attachment>> attachment = Attachment::Attach(options);
  if (!attachment.ok()) return attachment.status();
  const Result<AgentRef> self = ClaimAgent(**attachment, client_id, options.thread_id);
  if (!self.ok()) return self.status();
  Result<platform::Doorbell> doorbell = platform::Doorbell::Create(
      (*attachment)->directory(), DoorbellName((*attachment)->manager().segment(), *self));
  if (!doorbell.ok()) {
    (*attachment)->slots().ReleaseAgent(*self);
    return doorbell.status();
  }
  (*attachment)->fork_guard().Add(doorbell->fd());
  return std::unique_ptr<Agent>(new Agent(std::move(*attachment), *self, std::move(*doorbell)));
}

Result<Agent::Answer> Agent::Request(const segment::ResourceName& name, LockRequest& request) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  const uint32_t id = TakeEntry();
  request.request_id = id;
  request.now_ms = turn_ms_;
  const Result<RequestReply> reply = Submit(id, name, request);
  if (reply.ok()) {
    // A granted lock is checked when its limit passes; the blockers of a waiting request at once.
    const bool will_be_over =
        reply->outcome == RequestOutcome::kGranted && reply->has_to_do_with_hold_limits;
    Adopt(id, *reply, will_be_over ? attachment_->host().MonotonicNs() + request.hold_limit_ns : 0);
    return Answer{reply->outcome, id, reply->token};
  }
  if (reply.status().code() == StatusCode::kBusy) return Answer{RequestOutcome::kQueued, id, 0};
  FreeEntry(id);
  return reply.status();
}

// Checks that the segment is in place at most once per turn of the event loop.
Status Agent::CheckUsable() {
  if (attachment_->IsForkedChild()) {
    return Status(StatusCode::kClosed, "a forked child has to open the lock manager anew");
  }
  if (is_new_turn_) {
    place_ = attachment_->CheckPlace(attachment_->host().MonotonicNs());
    turn_ms_ = attachment_->host().RealtimeMs();
    is_new_turn_ = false;
  }
  return place_;
}

void Agent::Sweep() { SweepAt(attachment_->host().MonotonicNs()); }

void Agent::SweepIfDue() {
  const uint64_t now_ns = attachment_->host().MonotonicNs();
  if (now_ns >= next_sweep_ns_) return SweepAt(now_ns);
  place_ = attachment_->CheckPlace(now_ns);
}

void Agent::SweepAt(uint64_t now_ns) {
  next_sweep_ns_ = now_ns + kAgentSweepNs;
  place_ = attachment_->CheckPlace(now_ns);
  attachment_->worker().RunInline();
  CheckRecords();
  SweepKept();
}

// No event reports a record that corruption has removed. A missing record leads to a rescan, which
// searches the shard for the record from inside, and ends the request if the record is gone.
void Agent::CheckRecords() {
  segment::Segment& segment = attachment_->manager().segment();
  const auto size = static_cast<uint32_t>(entries_.size());
  for (uint32_t i = 0; i < std::min(size, kRecordsPerSweep); ++i) {
    next_check_ = next_check_ < size ? next_check_ : 0;
    const uint32_t id = next_check_++;
    const Entry& entry = entries_[id];
    if (!HasRecord(entry.state)) continue;
    const segment::ShardView view(segment, entry.record.shard);
    const segment::RequestCell* const request = RequestOf(view, entry.record);
    // No peer frees the record of a living agent, or the name that it needs.
    const bool is_there = request != nullptr && request->agent.Get() == self_.index &&
                          request->request_id.Get() == id;
    if (!is_there) entry_.rescan.Exchange(1);
    const bool needs_name = is_there && (request->state.Get() == CellState::kWaiting ||
                                         request->state.Get() == CellState::kHeld);
    if (!needs_name || view.NameAt(request->name.Get()) != nullptr) continue;
    view.MarkDamaged();
    entry_.rescan.Exchange(1);
  }
}

// Notes in the mirror where the request stands.
void Agent::Adopt(uint32_t id, const RequestReply& reply, uint64_t hold_due_ns) {
  entries_[id].record = reply.record;
  entries_[id].scan = scan_;  // a rescan in progress may have read an older state
  if (reply.outcome == RequestOutcome::kMissed) return FreeEntry(id);
  if (reply.has_to_do_with_hold_limits) {
    entries_[id].has_hold_timer = true;
    attachment_->worker().WatchHold(reply.record, hold_due_ns);
  }
  if (reply.outcome == RequestOutcome::kGranted) return SetState(id, EntryState::kHeld);
  SetState(id, EntryState::kQueued);
  const Blocker& blocker = reply.blocker;
  adaptive_spin_.Queued(blocker);
  if (blocker.several) {
    attachment_->worker().UpdateBlockers({&reply.record, 1});
  } else if (blocker.process.generation != 0 && blocker.process != self_.process) {
    // Without a watch the sweep still finds a death, and without a thread RunInline() does.
    (void)attachment_->worker().Watch(blocker.process);
  }
}

Loss Agent::End(uint32_t id, EndReason reason) {
  if (id >= entries_.size() || attachment_->IsForkedChild()) return Loss::kNone;
  const EntryState state = entries_[id].state;
  if (postponed_.erase(id) != 0) {
    FreeEntry(id);
    return Loss::kNone;
  }
  if (state == EntryState::kArriving) return EndLater(id, reason, CellState::kFree);
  if (!HasRecord(state)) return Loss::kNone;
  if (state == EntryState::kKept) kept_.Free(id);
  return EndEntry(id, reason);
}

void Agent::Abandon(uint32_t id, EndReason reason) {
  if (End(id, reason) == Loss::kUnknown) SetState(id, EntryState::kAbandoned);
}

Loss Agent::EndEntry(uint32_t id, EndReason reason) {
  CellState state = CellState::kFree;
  const Result<CellState> ended =
      attachment_->manager().End(entries_[id].record, kNoWait, reason, state);
  if (ended.status().code() == StatusCode::kBusy) return EndLater(id, reason, state);
  const bool was_held = IsHolding(entries_[id].state);
  FreeEntry(id);
  return was_held ? LossOf(state) : Loss::kNone;
}

// The loss of a held lock, by the last state that was read of its record. kFree: a repair has
// dropped the record as corrupted before this agent ended it.
Loss Agent::LossOf(CellState ended) {
  if (ended == CellState::kFree) return Loss::kDamaged;
  if (ended == CellState::kStolen) return Loss::kStolen;
  return ended == CellState::kExpired ? Loss::kExpired : Loss::kNone;
}

// Ends a record that this agent does not use. It may happen later, as no caller waits for it.
void Agent::EndRecord(const RecordRef& record) {
  const Result<CellState> ended = attachment_->manager().End(record, kNoWait);
  if (ended.status().code() != StatusCode::kBusy) return;
  attachment_->worker().Defer(record.shard, this, [attachment = attachment_.get(), record] {
    return attachment->manager().End(record, kWorkerTimeoutNs).status().code();
  });
}

Result<Snapshot> Agent::TakeSnapshot(uint64_t timeout_ns) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  Result<Snapshot> snapshot = core::TakeSnapshot(attachment_->manager(), timeout_ns);
  RepairIfBusy(snapshot.status());
  if (!snapshot.ok()) return snapshot;
  for (const ProcessRef dead : snapshot->dead) (void)attachment_->worker().Watch(dead);
  return snapshot;
}

bool Agent::WouldSelfDeadlock(uint32_t id) {
  if (id >= entries_.size() || entries_[id].state != EntryState::kQueued) return false;
  const Result<bool> waits =
      core::WouldSelfDeadlock(attachment_->manager(), self_, entries_[id].record, kNoWait);
  RepairIfBusy(waits.status());
  return waits.ok() && *waits;
}

Result<bool> Agent::IsLocked(const segment::ResourceName& name, uint32_t min) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  const Result<std::vector<Holdings>> holders = Holders(attachment_->manager(), name, kNoWait);
  RepairIfBusy(holders.status());
  if (holders.status().code() == StatusCode::kBusy) return true;
  if (!holders.ok()) return holders.status();
  uint32_t count = 0;
  bool is_exclusive = false;
  for (const Holdings& holdings : *holders) {
    if (attachment_->host().IsAlive(holdings.process)) {
      count += holdings.count;
      is_exclusive = is_exclusive || holdings.is_exclusive;
    } else {
      (void)attachment_->worker().Watch(holdings.process);
    }
  }
  return is_exclusive || count >= min;
}

uint32_t Agent::TakeEntry() {
  uint32_t id = 0;
  if (free_ids_.empty()) {
    id = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
    // Freeing must not need memory.
    free_ids_.reserve(entries_.capacity());
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  ++in_use_;
  return id;
}

void Agent::FreeEntry(uint32_t id) {
  if (entries_[id].state == EntryState::kKept) kept_.Free(id);
  ForgetHold(entries_[id]);
  SetState(id, EntryState::kFree);
  --in_use_;
  free_ids_.push_back(id);
}

void Agent::ForgetHold(Entry& entry) {
  if (!entry.has_hold_timer) return;
  entry.has_hold_timer = false;
  attachment_->worker().ForgetHold(entry.record);
}

void Agent::CountWaiting(bool waits) {
  if (waits) {
    if (queued_++ == 0) attachment_->worker().BeginWaiting(waiter_);
  } else if (--queued_ == 0) {
    waiter_.is_waiting.store(false, std::memory_order_release);
  }
}

Result<uint32_t> Agent::OpenWatch(std::optional<std::u16string> name) {
  const Status usable = CheckUsable();
  return usable.ok() ? watches_.Open(std::move(name)) : usable;
}

Status Agent::ReadWatch(uint32_t id, size_t max, std::vector<WatchedEvent>& events) {
  Status usable = CheckUsable();
  if (usable.ok()) watches_.Read(id, max, events);
  return usable;
}

// A forked child has a copy only: the locks, the slot and the background thread belong to its
// parent. So nothing is torn down, here or later.
void Agent::LeaveToParent() { (void)new std::shared_ptr<Attachment>(attachment_); }

void Agent::Close(EndReason reason) {
  if (is_closed_) return;
  is_closed_ = true;
  if (attachment_->IsForkedChild()) return LeaveToParent();
  attachment_->fork_guard().Remove(doorbell_.fd());
  attachment_->worker().CancelTasks(this);
  attachment_->worker().RemoveWaiter(waiter_);
  queued_ = 0;
  for (Entry& entry : entries_) ForgetHold(entry);
  const bool has_operations = !operations_.empty() || !retired_.empty();
  const Status done = attachment_->manager().TerminateAgent(self_, kNoWait, reason, has_operations);
  std::vector<OperationPlace> places = std::move(retired_);
  for (const Operation& operation : operations_) {
    places.push_back(operation.place);
    if (operation.request_place.id != kNoCell) places.push_back(operation.request_place);
  }
  const auto leave = [attachment = attachment_.get(), self = self_, places] {
    for (const OperationPlace& place : places) {
      const segment::OperationCell* const cell =
          segment::OperationAt(attachment->manager().segment(), place.id);
      if (cell != nullptr) attachment->FollowExecutor(*cell);
    }
    attachment->operations().Give(places);
    attachment->slots().ReleaseAgent(self);
  };
  if (done.ok()) return leave();
  // The background worker continues, beside the work for single shards. The end of the process ends
  // everything in any case.
  attachment_->worker().Defer(
      attachment_->manager().segment().geometry().shards, nullptr,
      [attachment = attachment_.get(), self = self_, reason, has_operations, leave] {
        const StatusCode code = attachment->manager()
                                    .TerminateAgent(self, kWorkerTimeoutNs, reason, has_operations)
                                    .code();
        if (code != StatusCode::kBusy) leave();
        return code;
      });
}

}  // namespace holdfast::core
