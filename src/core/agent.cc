#include "core/agent.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/blockers.h"
#include "core/combiner.h"
#include "core/request_record.h"
#include "core/self_deadlock.h"
#include "core/shard_timeouts.h"
#include "core/wait_for_graph.h"
#include "platform/clock.h"
#include "segment/biased_record.h"
#include "segment/event_list.h"
#include "segment/lock_word.h"
#include "segment/publication_list.h"

namespace holdfast::core {

using segment::AgentRef;
using segment::CellState;
using segment::Contention;
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
  const uint32_t batches =
      attachment.lock_table().segment().geometry().processes / DeadProcessFinder::kMaxChecks + 1;
  uint32_t useless_batches = 0;
  for (int waits = 0;; ++waits) {
    Result<AgentRef> agent = attachment.slots().ClaimAgent(client_id, thread_id);
    if (agent.status().code() != StatusCode::kTooManyAgents || waits == kMaxReapWaits) return agent;
    useless_batches = attachment.worker().ReapDeadProcesses(DeadProcessFinder::kMaxChecks)
                          ? 0
                          : useless_batches + 1;
    if (useless_batches == batches) return agent;
    attachment.worker().RunInline();
    std::atomic<uint32_t> never{0};
    attachment.host().FutexWait(&never, 0, kReapWaitNs);
  }
}

// The number before the first sleep. It is far from the numbers of the entry's previous agents. A
// ringer that is about to mark a sleep of a previous agent must not mark a sleep of this agent.
uint32_t FirstSleep(uint32_t generation) {
  constexpr uint32_t kFarApart = 0x9e3779b1;  // odd, and 2^32 by the golden ratio
  return generation * kFarApart % segment::kRung;
}

}  // namespace

[[gnu::cold]] Agent::Agent(std::shared_ptr<Attachment> attachment, const AgentRef& self,
                           platform::Doorbell doorbell)
    : attachment_(std::move(attachment)),
      self_(self),
      entry_(attachment_->lock_table().segment().agent(self.index)),
      doorbell_(std::move(doorbell)),
      adaptive_spin_(attachment_->lock_table().segment(), attachment_->host(), self.index),
      watches_(*attachment_, self_),
      sleep_(FirstSleep(self.generation)) {
  attachment_->worker().AddWaiter(waiter_);
}

[[gnu::cold]] Result<std::unique_ptr<Agent>> Agent::Open(const AttachOptions& options,
                                                         const uint64_t (&client_id)[2]) {
  Result<std::shared_ptr<Attachment>> attachment = Attachment::Attach(options);
  if (!attachment.ok()) return attachment.status();
  const Result<AgentRef> self = ClaimAgent(**attachment, client_id, options.thread_id);
  if (!self.ok()) return self.status();
  Result<platform::Doorbell> doorbell = platform::Doorbell::Create(
      (*attachment)->directory(), DoorbellName((*attachment)->lock_table().segment(), *self));
  if (!doorbell.ok()) {
    (*attachment)->slots().ReleaseAgent(*self);
    return doorbell.status();
  }
  (*attachment)->fork_guard().Add(doorbell->fd());
  return std::unique_ptr<Agent>(new Agent(std::move(*attachment), *self, std::move(*doorbell)));
}

Result<Agent::Answer> Agent::Request(const segment::ResourceName& name, RequestParams& request) {
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
    bucket_status_ = attachment_->CheckAttached(attachment_->host().MonotonicNs());
    turn_ms_ = attachment_->host().RealtimeMs();
    is_new_turn_ = false;
  }
  return bucket_status_;
}

void Agent::Sweep() { SweepAt(attachment_->host().MonotonicNs()); }

void Agent::SweepIfDue() {
  const uint64_t now_ns = attachment_->host().MonotonicNs();
  if (now_ns >= next_sweep_ns_) return SweepAt(now_ns);
  bucket_status_ = attachment_->CheckAttached(now_ns);
}

void Agent::SweepAt(uint64_t now_ns) {
  next_sweep_ns_ = now_ns + kAgentSweepNs;
  bucket_status_ = attachment_->CheckAttached(now_ns);
  attachment_->worker().RunInline();
  CheckRecords();
  SweepBiased();
}

// No event reports a record that corruption has removed. A missing record leads to a rescan, which
// searches the shard for the record from inside, and ends the request if the record is gone.
[[gnu::cold]] void Agent::CheckRecords() {
  segment::Segment& segment = attachment_->lock_table().segment();
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
    view.MarkCorrupted();
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
  if (state == EntryState::kBiased) biased_slots_.Free(id);
  return EndEntry(id, reason);
}

void Agent::Abandon(uint32_t id, EndReason reason) {
  if (End(id, reason) == Loss::kUnknown) SetState(id, EntryState::kAbandoned);
}

[[gnu::cold]] Contention Agent::WatchContention(uint32_t id) {
  if (id >= entries_.size() || !IsHolding(entries_[id].state) || attachment_->IsForkedChild()) {
    return Contention::kNone;
  }
  Entry& entry = entries_[id];
  const RecordRef record = entry.record;
  if (entry.contention != Contention::kUnwatched) {
    (void)UpdateContention(entry);
    return entry.contention;
  }
  entry.contention = Contention::kNone;
  ++contention_watches_;
  const Result<Contention> highest =
      attachment_->lock_table().WatchContention(record, false, kNoWait);
  if (highest.status().code() == StatusCode::kBusy) {
    attachment_->worker().Defer(record.shard, this, [attachment = attachment_.get(), record] {
      return attachment->lock_table()
          .WatchContention(record, true, kWorkerTimeoutNs)
          .status()
          .code();
    });
  }
  if (highest.ok()) entry.contention = *highest;
  return entry.contention;
}

// Reads what the record says now: of several events of a record the last one may be the oldest. A
// held record is freed by this agent only. Returns whether it has changed.
[[gnu::cold]] bool Agent::UpdateContention(Entry& entry) {
  const segment::ShardView view(attachment_->lock_table().segment(), entry.record.shard);
  const segment::RequestCell* const request = RequestOf(view, entry.record);
  const Contention contention =
      request == nullptr ? Contention::kUnwatched : request->contention.Acquire();
  if (contention == Contention::kUnwatched || contention == entry.contention) return false;
  entry.contention = contention;
  return true;
}

[[gnu::cold]] void Agent::ChangePriority(uint32_t id, Priority priority) {
  if (id >= entries_.size() || attachment_->IsForkedChild()) return;
  const EntryState state = entries_[id].state;
  if (state != EntryState::kQueued && state != EntryState::kArriving) return;
  priorities_[id] = priority;
  if (IsPriorityApplied(id, priority)) priorities_.erase(id);
}

[[gnu::cold]] void Agent::ApplyPriorities() {
  entering_.clear();
  std::erase_if(priorities_, [this](const auto& change) {
    return IsPriorityApplied(change.first, change.second);
  });
}

// Changes of arriving requests wait for their answers. True also if the request waits no more.
[[gnu::cold]] bool Agent::IsPriorityApplied(uint32_t id, Priority priority) {
  const Entry& entry = entries_[id];
  if (entry.state == EntryState::kArriving) return false;
  if (entry.state != EntryState::kQueued) return true;
  if (entering_.contains(entry.record.shard)) return false;
  const Status changed = attachment_->lock_table().ChangePriority(entry.record, priority, kNoWait);
  if (changed.code() == StatusCode::kBusy) EnterLater(entry.record.shard);
  return changed.code() != StatusCode::kBusy;
}

// Wakes this agent when the worker has entered the shard: then it is probably free.
[[gnu::cold]] void Agent::EnterLater(uint32_t shard) {
  entering_.insert(shard);
  attachment_->worker().Defer(shard, this, [attachment = attachment_.get(), self = self_, shard] {
    StatusCode code = StatusCode::kOk;
    {
      WakeQueue wake_queue(attachment->lock_table().segment(), attachment->host());
      code = attachment->lock_table().Enter(shard, wake_queue, kWorkerTimeoutNs).status().code();
    }
    if (code == StatusCode::kBusy) return code;
    attachment->lock_table().segment().agent(self.index).answered.Exchange(1);
    attachment->host().Ring(self);
    return code;
  });
}

Loss Agent::EndEntry(uint32_t id, EndReason reason) {
  CellState state = CellState::kFree;
  const Result<CellState> ended =
      attachment_->lock_table().End(entries_[id].record, kNoWait, reason, state);
  if (ended.status().code() == StatusCode::kBusy) return EndLater(id, reason, state);
  const bool was_held = IsHolding(entries_[id].state);
  FreeEntry(id);
  return was_held ? LossOf(state) : Loss::kNone;
}

// The loss of a held lock, by the last state that was read of its record. kFree: a repair has
// dropped the record as corrupted before this agent ended it.
Loss Agent::LossOf(CellState ended) {
  if (ended == CellState::kFree) return Loss::kCorrupted;
  if (ended == CellState::kStolen) return Loss::kStolen;
  return ended == CellState::kExpired ? Loss::kExpired : Loss::kNone;
}

// Ends a record that this agent does not use. It may happen later, as no caller waits for it.
void Agent::EndRecord(const RecordRef& record) {
  const Result<CellState> ended = attachment_->lock_table().End(record, kNoWait);
  if (ended.status().code() != StatusCode::kBusy) return;
  attachment_->worker().Defer(record.shard, this, [attachment = attachment_.get(), record] {
    return attachment->lock_table().End(record, kWorkerTimeoutNs).status().code();
  });
}

[[gnu::cold]] Result<Snapshot> Agent::TakeSnapshot(uint64_t timeout_ns) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  Result<Snapshot> snapshot = core::TakeSnapshot(attachment_->lock_table(), timeout_ns);
  RepairIfBusy(snapshot.status());
  if (!snapshot.ok()) return snapshot;
  for (const ProcessRef dead : snapshot->dead) (void)attachment_->worker().Watch(dead);
  return snapshot;
}

bool Agent::WouldSelfDeadlock(uint32_t id) {
  if (id >= entries_.size() || entries_[id].state != EntryState::kQueued) return false;
  const Result<bool> waits =
      core::WouldSelfDeadlock(attachment_->lock_table(), self_, entries_[id].record, kNoWait);
  RepairIfBusy(waits.status());
  return waits.ok() && *waits;
}

Result<bool> Agent::IsLocked(const segment::ResourceName& name, uint32_t min) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  Result<std::vector<Holdings>> holders = Holders(attachment_->lock_table(), name, kNoWait);
  RepairIfBusy(holders.status());
  const auto is_busy = [&] { return holders.status().code() == StatusCode::kBusy; };
  std::atomic<uint32_t> never{0};
  for (int i = 0; i < kReadPauses && is_busy(); ++i) {
    attachment_->host().FutexWait(&never, 0, kReadPauseNs);
    holders = Holders(attachment_->lock_table(), name, kNoWait);
  }
  if (is_busy()) return true;
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
  if (entries_[id].state == EntryState::kBiased) biased_slots_.Free(id);
  ForgetHold(entries_[id]);
  if (!priorities_.empty()) priorities_.erase(id);
  SetState(id, EntryState::kFree);
  --in_use_;
  free_ids_.push_back(id);
}

void Agent::ForgetHold(Entry& entry) {
  const Contention was = std::exchange(entry.contention, Contention::kUnwatched);
  if (was != Contention::kUnwatched) --contention_watches_;
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

[[gnu::cold]] Result<uint32_t> Agent::OpenWatch(std::optional<std::u16string> name) {
  const Status usable = CheckUsable();
  return usable.ok() ? watches_.Open(std::move(name)) : usable;
}

[[gnu::cold]] Status Agent::ReadWatch(uint32_t id, size_t max, std::vector<WatchedEvent>& events) {
  Status usable = CheckUsable();
  if (usable.ok()) watches_.Read(id, max, events);
  return usable;
}

// A forked child has a copy only: the locks, the slot and the background thread belong to its
// parent. So nothing is torn down, here or later.
[[gnu::cold]] void Agent::LeaveToParent() { (void)new std::shared_ptr<Attachment>(attachment_); }

[[gnu::cold]] void Agent::Close(EndReason reason) {
  if (is_closed_) return;
  is_closed_ = true;
  if (attachment_->IsForkedChild()) return LeaveToParent();
  attachment_->fork_guard().Remove(doorbell_.fd());
  attachment_->worker().CancelTasks(this);
  attachment_->worker().RemoveWaiter(waiter_);
  queued_ = 0;
  for (Entry& entry : entries_) ForgetHold(entry);
  const bool has_operations = !operations_.empty() || !retired_.empty();
  const Status done =
      attachment_->lock_table().TerminateAgent(self_, kNoWait, reason, has_operations);
  std::vector<OperationBuffer> buffers;
  for (const Retired& retired : std::exchange(retired_, {})) buffers.push_back(retired.buffer);
  for (const Operation& operation : operations_) {
    buffers.push_back(operation.buffer);
    if (operation.request_buffer.id != kNoCell) buffers.push_back(operation.request_buffer);
  }
  const auto leave = [attachment = attachment_.get(), self = self_, buffers] {
    for (const OperationBuffer& buffer : buffers) {
      const segment::OperationCell* const cell =
          segment::OperationAt(attachment->lock_table().segment(), buffer.id);
      if (cell != nullptr) attachment->FollowCombiner(*cell);
    }
    attachment->operations().Free(buffers);
    attachment->slots().ReleaseAgent(self);
  };
  if (done.ok()) return leave();
  // The background worker continues, beside the work for single shards. The end of the process ends
  // everything in any case.
  attachment_->worker().Defer(
      attachment_->lock_table().segment().geometry().shards, nullptr,
      [attachment = attachment_.get(), self = self_, reason, has_operations, leave] {
        const StatusCode code = attachment->lock_table()
                                    .TerminateAgent(self, kWorkerTimeoutNs, reason, has_operations)
                                    .code();
        if (code != StatusCode::kBusy) leave();
        return code;
      });
}

// How an agent keeps the records of names that it used last
// (docs/decisions/0025-biased-locks.md).

Agent::Released Agent::EndOrBias(uint32_t id) {
  const bool may_keep = id < entries_.size() && entries_[id].state == EntryState::kHeld &&
                        biased_slots_.HasRoom() && !attachment_->IsForkedChild();
  if (!may_keep) return {End(id)};
  CellState state = CellState::kFree;
  const Result<bool> is_biased =
      attachment_->lock_table().EndOrBias(entries_[id].record, kNoWait, state);
  if (is_biased.status().code() == StatusCode::kBusy) {
    return {EndLater(id, EndReason::kReleased, state)};
  }
  if (is_biased.ok() && *is_biased) {
    ForgetHold(entries_[id]);
    SetState(id, EntryState::kBiased);
    const segment::RequestCell& record = segment::AsRequest(
        *attachment_->lock_table().segment().CellByNumber(entries_[id].record.cell - 1));
    return {Loss::kNone, biased_slots_.Add(id, record.token.Get())};
  }
  FreeEntry(id);
  return {LossOf(state)};
}

segment::RequestCell& Agent::BiasedRecord(uint32_t slot) const {
  const RecordRef& record = entries_[biased_slots_.IdOf(slot)].record;
  return segment::AsRequest(*attachment_->lock_table().segment().CellByNumber(record.cell - 1));
}

// The token of the hold; 0: the record was revoked.
uint64_t Agent::AcquireBiased(uint32_t slot, LockMode mode) {
  const uint64_t token = NextToken(attachment_->lock_table().segment(), attachment_->host());
  const segment::Hold hold{token, turn_ms_, static_cast<uint8_t>(mode)};
  return segment::AcquireBiased(BiasedRecord(slot), BiasedTicket(slot), hold) ? token : 0;
}

bool Agent::ReleaseBiased(uint32_t slot) {
  return segment::ReleaseBiased(BiasedRecord(slot), BiasedTicket(slot));
}

bool Agent::IsIdle() const {
  if (in_use_ > BiasedSlots::kMax || watches_.IsAnyOpen()) return false;
  uint32_t idle = 0;
  for (uint32_t slot = 0; slot < BiasedSlots::kMax; ++slot) {
    if (!IsBiasedSlot(slot)) continue;
    const CellState state = BiasedRecord(slot).state.Get();
    if (state == CellState::kRevoked || state == segment::BiasedFreeState(BiasedTicket(slot)))
      ++idle;
  }
  return idle == in_use_;
}

// Whether it ended any.
[[gnu::cold]] bool Agent::EndIdleBiased() {
  bool has_ended = false;
  for (uint32_t slot = 0; slot < BiasedSlots::kMax; ++slot) {
    const uint32_t id = biased_slots_.IdOf(slot);
    if (id == BiasedSlots::kNone) continue;
    const CellState state = BiasedRecord(slot).state.Get();
    const bool is_idle =
        state == CellState::kRevoked || state == segment::BiasedFreeState(BiasedTicket(slot));
    if (!is_idle) continue;
    const RecordRef record = entries_[id].record;
    FreeEntry(id);  // before the record: its cell may be another's then
    EndRecord(record);
    has_ended = true;
  }
  return has_ended;
}

// Ends what was not used since the last sweep, so that an idle process has nothing to sweep for.
// Also ends what others have revoked, so that the table has its cells back.
[[gnu::cold]] void Agent::SweepBiased() {
  for (uint32_t slot = 0; slot < BiasedSlots::kMax; ++slot) {
    const uint32_t id = biased_slots_.IdOf(slot);
    if (id == BiasedSlots::kNone) continue;
    const segment::RequestCell& record = BiasedRecord(slot);
    const CellState state = record.state.Get();
    const bool is_unused = biased_slots_.IsIdle(slot, record.token.Get()) &&
                           state == segment::BiasedFreeState(BiasedTicket(slot));
    if (!is_unused && state != CellState::kRevoked) continue;
    const RecordRef ref = entries_[id].record;
    FreeEntry(id);
    EndRecord(ref);
  }
}

// An agent's requests to a locked shard: operations, and their answers.

using segment::OperationCell;
using segment::OperationKind;
using segment::OperationState;

namespace {

// The number of times that dead blockers are reaped for one request: a process that keeps
// corrupting the segment must not occupy the background thread.
constexpr int kMaxDeadBlockers = 3;

std::u16string_view CutText(std::u16string_view text) { return text.substr(0, TextLength(text)); }

void WriteRequest(OperationCell& cell, const RequestParams& request) {
  cell.mode.Set(static_cast<uint8_t>(request.mode));
  cell.steals.Set(request.steal ? 1 : 0);
  cell.reason.Set(static_cast<uint8_t>(request.priority));
  cell.argument.Set(request.max_pending);
  cell.limit.Set(request.limit);
  cell.hold_limit_ns.Set(request.hold_limit_ns);
  cell.enclosing_token.Set(request.enclosing_token);
  cell.requested_ms.Set(request.now_ms);
  cell.cell.Set(kNoCell);  // not known yet
  cell.ticket.Set(0);
  // If corruption prevents its execution, the answer to an earlier operation in the cell must not
  // count.
  cell.outcome.Set(segment::kRefused | static_cast<uint32_t>(StatusCode::kSegmentBroken));
}

// The event that reports the outcome of a release.
RequestEvent::Kind KindOf(Loss loss) {
  switch (loss) {
    case Loss::kStolen:
      return RequestEvent::Kind::kLost;
    case Loss::kExpired:
      return RequestEvent::Kind::kExpired;
    case Loss::kCorrupted:
      return RequestEvent::Kind::kCorrupted;
    default:
      return RequestEvent::Kind::kReleased;
  }
}

}  // namespace

// An own cell: it exists whatever the extent owners say by now.
OperationCell& Agent::CellOf(const OperationBuffer& buffer) const {
  return segment::AsOperation(*attachment_->lock_table().segment().CellByNumber(buffer.id - 1));
}

Status Agent::PublishRequest(uint32_t id, const segment::ResourceName& name,
                             const RequestParams& request) {
  segment::Segment& segment = attachment_->lock_table().segment();
  const segment::OperationTexts texts{
      {name.units(), name.length()}, CutText(request.label), CutText(request.call_site)};
  const Result<OperationBuffer> buffer = attachment_->operations().Allocate(texts.cells());
  if (!buffer.ok()) return buffer.status();
  OperationCell& cell = CellOf(*buffer);
  segment::WriteTexts(segment, cell, buffer->text, texts);
  WriteRequest(cell, request);
  SetState(id, EntryState::kArriving);
  Publish({.buffer = *buffer,
           .request_buffer = {},
           .shard = name.ShardIn(segment),
           .id = id,
           .kind = OperationKind::kRequest});
  return Status();
}

// `seen`: what this agent has seen of the record, and perhaps ended.
Status Agent::PublishEnd(uint32_t id, EndReason reason, CellState seen) {
  const Result<OperationBuffer> buffer = attachment_->operations().Allocate(0);
  if (!buffer.ok()) return buffer.status();
  OperationCell& cell = CellOf(*buffer);
  Operation operation{.buffer = *buffer,
                      .request_buffer = {},
                      .shard = entries_[id].record.shard,
                      .id = id,
                      .kind = OperationKind::kEnd};
  const auto request =
      std::find_if(operations_.begin(), operations_.end(), [id](const Operation& other) {
        return other.id == id && other.kind == OperationKind::kRequest;
      });
  if (entries_[id].state == EntryState::kArriving && request != operations_.end()) {
    operation.request_buffer = request->buffer;
    operation.shard = request->shard;
  }
  cell.name_length.Set(0);
  cell.label_length.Set(0);
  cell.call_site_length.Set(0);
  cell.reason.Set(static_cast<uint8_t>(reason));
  cell.cell.Set(entries_[id].record.cell);
  cell.ticket.Set(entries_[id].record.ticket);
  cell.argument.Set(operation.request_buffer.id);
  cell.ended.Set(seen);
  Publish(operation);
  return Status();
}

// Common to both kinds. Any thread may execute the operation before this returns.
void Agent::Publish(const Operation& operation) {
  OperationCell& cell = CellOf(operation.buffer);
  cell.shard.Set(operation.shard);
  cell.kind.Set(operation.kind);
  cell.process_slot.Set(self_.process.slot);
  cell.process_generation.Set(self_.process.generation);
  cell.agent.Set(self_.index);
  // A thread that reads this generation sees no contents from before this process owned the cell.
  cell.agent_generation.Publish(self_.generation);
  cell.request_id.Set(operation.id);
  cell.token.Set(0);
  cell.combiner_slot.Set(self_.process.slot);
  attachment_->lock_table().Publish(operation.buffer.id, cell);
  operations_.push_back(operation);
  operations_.back().number = cell.number.Get();
  if (cell.state.Acquire() == OperationState::kPending) {
    return DeferEntry(operation.shard, {operation.buffer.id, cell.number.Get()});
  }
  attachment_->FollowCombiner(cell);
  MarkAnswered();
}

// The combiner may die after it has executed an operation and before it notifies the agent. It then
// leaves nothing that needs a repair.
void Agent::MarkAnswered() { entry_.answered.Exchange(1); }

// A cell may be written again once it is in no publication list. A repair leaves an executed cell
// linked; a thread that enters the shard executes its publication list, so the cell is not linked
// afterwards. The worker stores nothing into the cell: another thread may have entered earlier, and
// the cell may have a new use by then.
void Agent::FreeBuffer(const OperationBuffer& buffer, uint32_t shard) {
  const auto enter = [attachment = attachment_.get(), shard](uint64_t timeout_ns) {
    WakeQueue wake_queue(attachment->lock_table().segment(), attachment->host());
    return attachment->lock_table().Enter(shard, wake_queue, timeout_ns).status().code();
  };
  const bool is_out = CellOf(buffer).state.Acquire() != OperationState::kExecuted;
  if (is_out || enter(kNoWait) == StatusCode::kOk) return attachment_->operations().Free(buffer);
  const auto is_unlinked = std::make_shared<std::atomic<bool>>(false);
  retired_.push_back({buffer, is_unlinked});
  attachment_->worker().Defer(
      shard, this, [attachment = attachment_.get(), self = self_, enter, is_unlinked] {
        const StatusCode code = enter(kWorkerTimeoutNs);
        if (code == StatusCode::kBusy) return code;
        is_unlinked->store(code == StatusCode::kOk);
        attachment->lock_table().segment().agent(self.index).answered.Exchange(1);
        attachment->host().Ring(self);
        return code;
      });
}

[[gnu::cold]] void Agent::FreeRetired() {
  std::erase_if(retired_, [this](const Retired& retired) {
    const bool is_unlinked = retired.is_unlinked->load();
    if (is_unlinked) attachment_->operations().Free(retired.buffer);
    return is_unlinked;
  });
}

// While an operation is published, the worker of this process enters the shard until it is
// executed.
void Agent::DeferEntry(uint32_t shard, const LockTable::OperationRef& operation) {
  std::shared_ptr<DeferredEntry>& deferred = deferred_entries_[shard];
  if (deferred != nullptr && deferred->Add(operation)) return;
  // The worker copies a task before each attempt; all attempts share the state of the deferred
  // entry.
  deferred =
      std::make_shared<DeferredEntry>(*attachment_, self_, worker_reports_, shard, operation);
  attachment_->worker().Defer(shard, this, [deferred] { return (*deferred)(); });
}

[[gnu::cold]] void Agent::ReadWorkerReports(std::vector<RequestEvent>& events) {
  std::vector<uint32_t> done;
  std::vector<WorkerReports::Stall> stalls;
  std::vector<WorkerReports::End> ends;
  std::vector<WorkerReports::Reaped> reaped;
  {
    const std::lock_guard<std::mutex> guard(worker_reports_->mutex);
    done.swap(worker_reports_->done);
    stalls.swap(worker_reports_->stalls);
    ends.swap(worker_reports_->ends);
    reaped.swap(worker_reports_->reaped);
    worker_reports_->has_news.store(false);
  }
  // One waiting request is enough to warn of the stopped process.
  for (const auto& [shard, process_id] : stalls) {
    const auto waiting = std::find_if(
        operations_.begin(), operations_.end(), [&, at = shard](const Operation& operation) {
          return operation.shard == at && operation.kind == OperationKind::kRequest &&
                 entries_[operation.id].state == EntryState::kArriving;
        });
    if (waiting == operations_.end()) continue;
    events.push_back({waiting->id, RequestEvent::Kind::kStalled, process_id, Status()});
  }
  for (const auto& [id, ended] : ends) ReportEnd(id, ended, 0, events);
  for (const auto& [id, attempts] : reaped) SubmitPostponed(id, attempts, events);
  for (const uint32_t shard : done) {
    const auto deferred = deferred_entries_.find(shard);
    if (deferred != deferred_entries_.end() && deferred->second->IsOver())
      deferred_entries_.erase(deferred);
    // The operations that could not be executed.
    for (const Operation& operation : operations_) {
      const bool is_pending = CellOf(operation.buffer).state.Acquire() == OperationState::kPending;
      if (operation.shard != shard || !is_pending) continue;
      DeferEntry(shard, {operation.buffer.id, operation.number});
    }
  }
  if (!done.empty()) MarkAnswered();
}

// Called after the events were taken and before they are read: the answer to an operation is stored
// before the event of its record.
void Agent::ReadAnswers(std::vector<RequestEvent>& events) {
  entry_.answered.Exchange(0);
  if (!retired_.empty()) FreeRetired();
  const std::vector<Operation> operations = std::exchange(operations_, {});
  // From the newest to the oldest. They are executed meanwhile, and an end after its request.
  std::vector<bool> is_pending(operations.size());
  for (size_t i = operations.size(); i-- > 0;) {
    is_pending[i] = CellOf(operations[i].buffer).state.Acquire() == OperationState::kPending;
  }
  for (size_t i = 0; i < operations.size(); ++i) {
    if (is_pending[i]) {
      operations_.push_back(operations[i]);
    } else {
      ReadAnswer(operations[i], events);
    }
  }
  if (!priorities_.empty()) ApplyPriorities();
}

void Agent::ReadAnswer(const Operation& operation, std::vector<RequestEvent>& events) {
  const uint32_t id = operation.id;
  const OperationCell& cell = CellOf(operation.buffer);
  attachment_->FollowCombiner(cell);
  if (operation.kind == OperationKind::kEnd) {
    ReportEnd(id, cell.ended.Get(), cell.token.Get(), events);
    FreeBuffer(operation.buffer, operation.shard);
    if (operation.request_buffer.id != kNoCell)
      FreeBuffer(operation.request_buffer, operation.shard);
    return;
  }
  // Its end follows, and needs this answer.
  if (entries_[id].is_end_published) return;
  Result<RequestReply> reply = ReplyOf(cell);
  const bool is_missed = reply.ok() && reply->outcome == RequestOutcome::kMissed;
  if (is_missed && entries_[id].state != EntryState::kAbandoned) {
    reply = AnswerMiss(operation, *reply);
  }
  FreeBuffer(operation.buffer, operation.shard);
  Settle(id, reply, events);
}

// Reports the outcome of a request that was answered later.
void Agent::Settle(uint32_t id, const Result<RequestReply>& reply,
                   std::vector<RequestEvent>& events) {
  const bool is_abandoned = entries_[id].state == EntryState::kAbandoned;
  if (reply.status().code() == StatusCode::kBusy) return;  // it will be answered later
  if (!reply.ok()) {
    FreeEntry(id);
    if (!is_abandoned) {
      events.push_back({id, RequestEvent::Kind::kFailed, 0, reply.status()});
    }
    return;
  }
  Adopt(id, *reply, 0);
  if (is_abandoned) {
    Abandon(id, EndReason::kReleased);
  } else if (reply->outcome == RequestOutcome::kGranted) {
    events.push_back({id, RequestEvent::Kind::kGranted, reply->token, Status()});
  } else if (reply->outcome == RequestOutcome::kMissed) {
    events.push_back({id, RequestEvent::Kind::kMissed, 0, Status()});
  }
}

[[gnu::cold]] Result<RequestReply> Agent::AnswerMiss(const Operation& operation,
                                                     const RequestReply& reply) {
  const OperationCell& cell = CellOf(operation.buffer);
  segment::OperationTexts texts;
  if (!segment::ReadTexts(attachment_->lock_table().segment(), operation.buffer.id, cell, texts)) {
    return reply;
  }
  const segment::ResourceName name(texts.name.data(), static_cast<uint32_t>(texts.name.size()));
  return AnswerLater(operation.id, name, RequestParamsFrom(cell, texts), reply, 0);
}

// kBusy: the outcome comes later. The request is in the publication list of its shard, or is made
// again once dead processes are reaped there.
Result<RequestReply> Agent::Submit(uint32_t id, const segment::ResourceName& name,
                                   const RequestParams& request, int attempts) {
  LockTable& lock_table = attachment_->lock_table();
  Result<RequestReply> reply = lock_table.Request(self_, name, request, kNoWait);
  if (reply.ok() && reply->outcome != RequestOutcome::kMissed) return reply;
  // A table that is full must not refuse a request for the sake of a biased record that is free.
  if (IsForWantOfRoom(reply.status()) && EndIdleBiased()) {
    reply = lock_table.Request(self_, name, request, kNoWait);
  }
  return AnswerLater(id, name, request, reply, attempts);
}

// A dead holder must not make a lock unavailable. A dead waiter is reaped soon: requests that may
// wait are not postponed, because later ones would go before them.
Result<RequestReply> Agent::AnswerLater(uint32_t id, const segment::ResourceName& name,
                                        const RequestParams& request, Result<RequestReply> reply,
                                        int attempts) {
  const bool is_missed = reply.ok() && reply->outcome == RequestOutcome::kMissed;
  if (is_missed && request.max_pending > 0) {
    const segment::ProcessRef last = reply->blocker.process;
    if (last.generation != 0 && last != self_.process) (void)attachment_->worker().Watch(last);
    return reply;
  }
  if (is_missed && attempts < kMaxDeadBlockers) {
    const Result<bool> is_later = PostponeIfDead(id, name, request, reply->blocker, attempts);
    if (is_later.ok() && *is_later) return Status(StatusCode::kBusy, "its holder has died");
    if (!is_later.ok()) reply = is_later.status();
  }
  if (reply.status().code() != StatusCode::kBusy) return reply;
  const Status published = PublishRequest(id, name, request);
  if (published.ok()) return reply;
  RepairIfBusy(reply.status());  // no deferred entry does
  return published;
}

// Ending the records of the dead takes as long as they have many: the background worker does it.
[[gnu::cold]] Result<bool> Agent::PostponeIfDead(uint32_t id, const segment::ResourceName& name,
                                                 const RequestParams& request,
                                                 const Blocker& blocker, int attempts) {
  std::vector<segment::ProcessRef> dead;
  const auto add_if_dead = [&](segment::ProcessRef process) {
    if (process.generation == 0 || attachment_->host().IsAlive(process)) return;
    // The worker, or a sweep if there is none, also reaps the other shards.
    (void)attachment_->worker().Watch(process);
    dead.push_back(process);
  };
  if (blocker.several) {
    const auto holders = Holders(attachment_->lock_table(), name, kNoWait);
    if (!holders.ok()) return holders.status();
    for (const Holdings& holdings : *holders) add_if_dead(holdings.process);
  } else {
    add_if_dead(blocker.process);
  }
  if (dead.empty()) return false;
  postponed_[id] = {{name.units(), name.length()},
                    std::u16string(request.label),
                    std::u16string(request.call_site),
                    request};
  SetState(id, EntryState::kArriving);
  const uint32_t shard = name.ShardIn(attachment_->lock_table().segment());
  attachment_->worker().Defer(shard, this,
                              [attachment = attachment_.get(), log = worker_reports_, self = self_,
                               shard, id, dead, attempts] {
                                bool was_busy = false;
                                for (const segment::ProcessRef process : dead) {
                                  const Status done = attachment->lock_table().ReapInShard(
                                      process, shard, kWorkerTimeoutNs);
                                  was_busy = was_busy || done.code() == StatusCode::kBusy;
                                }
                                {
                                  const std::lock_guard<std::mutex> guard(log->mutex);
                                  log->reaped.push_back({id, was_busy ? attempts : attempts + 1});
                                  log->has_news.store(true);
                                }
                                attachment->host().Ring(self);
                                return StatusCode::kOk;
                              });
  return true;
}

[[gnu::cold]] void Agent::SubmitPostponed(uint32_t id, int attempts,
                                          std::vector<RequestEvent>& events) {
  const auto found = postponed_.find(id);
  if (found == postponed_.end()) return;  // it has ended meanwhile
  Postponed postponed = std::move(found->second);
  postponed_.erase(found);
  postponed.request.label = postponed.label;
  postponed.request.call_site = postponed.call_site;
  const segment::ResourceName name(postponed.name.data(),
                                   static_cast<uint32_t>(postponed.name.size()));
  Settle(id, Submit(id, name, postponed.request, attempts), events);
}

// Reports the outcome of an end to the request that waits for it.
void Agent::ReportEnd(uint32_t id, CellState ended, uint64_t token,
                      std::vector<RequestEvent>& events) {
  const bool is_awaited = entries_[id].state == EntryState::kLeaving;
  entries_[id].is_end_published = false;
  FreeEntry(id);
  if (!is_awaited) return;
  events.push_back({id, KindOf(LossOf(ended)), token, Status()});
}

// The shard is locked: the end goes into the publication list. For a request that was not granted
// no caller waits for the outcome.
Loss Agent::EndLater(uint32_t id, EndReason reason, CellState seen) {
  const bool is_held = IsHolding(entries_[id].state);
  const bool is_arriving = entries_[id].state == EntryState::kArriving;
  const bool is_published = PublishEnd(id, reason, seen).ok();
  ForgetHold(entries_[id]);
  entries_[id].is_end_published = is_published;
  SetState(id, is_held ? EntryState::kLeaving : EntryState::kAbandoned);
  // No room for another operation. A request in the publication list is ended once it has left the
  // publication list.
  if (!is_published && !is_arriving) EndByWorker(id, reason, seen);
  return is_held ? Loss::kUnknown : Loss::kNone;
}

[[gnu::cold]] void Agent::EndByWorker(uint32_t id, EndReason reason, CellState seen) {
  const RecordRef record = entries_[id].record;
  attachment_->worker().Defer(
      record.shard, this,
      [attachment = attachment_.get(), log = worker_reports_, self = self_, id, record, reason,
       state = std::make_shared<CellState>(seen)] {  // all attempts share it
        const Result<CellState> ended =
            attachment->lock_table().End(record, kWorkerTimeoutNs, reason, *state);
        if (ended.status().code() == StatusCode::kBusy) return StatusCode::kBusy;
        {
          const std::lock_guard<std::mutex> guard(log->mutex);
          log->ends.push_back({id, *state});
          log->has_news.store(true);
        }
        attachment->host().Ring(self);
        return ended.status().code();
      });
}

// An agent's view of which request waits for which.

[[gnu::cold]] Result<std::unique_ptr<WaitWalk>> Agent::BeginWaitWalk(std::span<const uint32_t> ids,
                                                                     bool with_queues) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  std::vector<RecordRef> starts;
  for (const uint32_t id : ids) {
    if (id < entries_.size() && entries_[id].state == EntryState::kQueued) {
      starts.push_back(entries_[id].record);
    }
  }
  return std::make_unique<WaitWalk>(attachment_->lock_table(), WaitWalk::Options{with_queues},
                                    std::move(starts));
}

[[gnu::cold]] Result<bool> Agent::GoOn(WaitWalk& walk) {
  Result<bool> is_read = walk.GoOn(kNoWait);
  RepairIfBusy(is_read.status());
  return is_read;
}

[[gnu::cold]] Result<Snapshot> Agent::HoldersOf(const segment::ResourceName& name, uint32_t max) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  Result<std::vector<RecordCopy>> holders =
      core::HoldersOf(attachment_->lock_table(), name, max, kNoWait);
  RepairIfBusy(holders.status());
  if (!holders.ok()) return holders.status();
  Snapshot snapshot;
  for (RecordCopy& holder : *holders) {
    if (attachment_->host().IsAlive(holder.process)) {
      snapshot.held.push_back(std::move(holder.info));
    } else {
      (void)attachment_->worker().Watch(holder.process);
    }
  }
  return snapshot;
}

// How an agent takes the events of its requests, and sleeps until there are some.

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
  return segment::HasEvents(entry_) || worker_reports_->has_news.load() || rescan_.is_running;
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

std::optional<RequestEvent> Agent::PollFor(uint32_t id, std::vector<RequestEvent>& others) {
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
    OnDoorbellRung();
  }
}

void Agent::TakeEvents(std::vector<RequestEvent>& events) {
  if (attachment_->IsForkedChild()) return;  // they are its parent's
  if (worker_reports_->has_news.load()) ReadWorkerReports(events);
  if (entry_.rescan.LoadSeqCst() != 0) BeginRescan();
  if (rescan_.is_running) Rescan(events);
  records_.clear();
  core::TakeEvents(attachment_->lock_table().segment(), self_.index, records_);
  if (entry_.answered.LoadSeqCst() != 0) ReadAnswers(events);
  if (!records_.empty()) adaptive_spin_.OnEvents();
  for (const RecordEvent& record : records_) Read(record, events);
  if (blocked_.empty()) return;
  attachment_->worker().UpdateBlockers(blocked_);
  blocked_.clear();
}

// Events may be missing: reads the records of all requests, a piece per call.
[[gnu::cold]] void Agent::BeginRescan() {
  entry_.rescan.Exchange(0);
  ++scan_;
  rescan_ = {};
  rescan_.is_running = true;
  // A peer may wait for a shard whose lock word names this process.
  segment::DisownShards(attachment_->lock_table().segment(), self_.process, attachment_->host());
}

[[gnu::cold]] void Agent::Rescan(std::vector<RequestEvent>& events) {
  segment::Segment& segment = attachment_->lock_table().segment();
  const uint32_t shards = segment.geometry().shards;
  std::vector<RecordEvent> found;
  std::vector<RecordEvent> popped;
  std::map<uint32_t, std::vector<RecordRef>> unknown;  // by shard
  while (rescan_.shard < shards && found.size() < kRecordsPerRescan) {
    const uint32_t shard = rescan_.shard;
    const bool has_records = segment.agent_list(self_.index, shard).Get() != kNoCell;
    const Status done = has_records ? attachment_->lock_table().Rescan(
                                          self_, shard, rescan_.position, found, popped, kNoWait)
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
      events.push_back({id, RequestEvent::Kind::kCorrupted, 0, Status()});
    } else {
      events.push_back(
          {id, RequestEvent::Kind::kFailed, 0,
           Status(StatusCode::kSegmentBroken, "the record of the request was corrupted")});
    }
  }
}

// The shard is busy. Once it is free, the doorbell makes this agent try again.
[[gnu::cold]] void Agent::RescanLater(uint32_t shard) {
  rescan_.is_complete = false;
  attachment_->worker().Defer(shard, this, [attachment = attachment_.get(), self = self_, shard] {
    WakeQueue wake_queue(attachment->lock_table().segment(), attachment->host());
    const auto lock = attachment->lock_table().Enter(shard, wake_queue, kWorkerTimeoutNs);
    if (!lock.ok()) return lock.status().code();
    attachment->lock_table().segment().agent(self.index).rescan.Exchange(1);
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
// REQUIRES: it was read inside its shard, and the answers after that. Entering executes the
// publication list, so the record of an operation has an entry now. The loss of a release that is
// awaited is read from its record, which the worker or the publication list ends.
[[gnu::cold]] bool Agent::IsUnknown(const RecordEvent& record) {
  if (Find(record) != nullptr) return false;
  if (record.request_id >= entries_.size()) return true;
  const Entry& entry = entries_[record.request_id];
  const bool is_ending =
      entry.state == EntryState::kLeaving || entry.state == EntryState::kAbandoned;
  return !is_ending || entry.record.cell != record.record.cell ||
         entry.record.ticket != record.record.ticket;
}

// Ends records of a shard that no request owns: corruption may have made any number of them.
[[gnu::cold]] void Agent::EndByWorker(uint32_t shard, std::vector<RecordRef> records) {
  constexpr size_t kRecordsPerTask = 128;  // so that Close() does not wait for all of them
  // The worker copies a task before each attempt; all attempts share the rest.
  auto rest = std::make_shared<std::vector<RecordRef>>(std::move(records));
  attachment_->worker().Defer(shard, this, [attachment = attachment_.get(), rest] {
    for (size_t i = 0; i < kRecordsPerTask && !rest->empty(); ++i) {
      const Status ended = attachment->lock_table().End(rest->back(), kWorkerTimeoutNs).status();
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
  } else if (record.state == CellState::kHeld && IsHolding(entry->state)) {
    if (entry->contention == Contention::kUnwatched || !UpdateContention(*entry)) return;
    events.push_back(
        {id, RequestEvent::Kind::kContended, static_cast<uint64_t>(entry->contention), Status()});
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
