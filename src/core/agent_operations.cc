// An agent's requests to a locked shard: operations, and their answers.
#include <algorithm>
#include <utility>

#include "core/agent.h"
#include "core/blockers.h"
#include "core/operation_executor.h"
#include "core/request_record.h"
#include "core/shard_timeouts.h"

namespace holdfast::core {

using segment::CellState;
using segment::kNoCell;
using segment::OperationCell;
using segment::OperationKind;
using segment::OperationState;

namespace {

// The number of times that dead blockers are reaped for one request: a process that keeps
// corrupting the segment must not occupy the background thread.
constexpr int kMaxDeadBlockers = 3;

std::u16string_view CutText(std::u16string_view text) { return text.substr(0, TextLength(text)); }

void WriteRequest(OperationCell& cell, const LockRequest& request) {
  cell.mode.Set(static_cast<uint8_t>(request.mode));
  cell.flags.Set(static_cast<uint8_t>((request.if_available ? segment::kOperationIfAvailable : 0) |
                                      (request.steal ? segment::kOperationSteals : 0)));
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
    case Loss::kDamaged:
      return RequestEvent::Kind::kDamaged;
    default:
      return RequestEvent::Kind::kReleased;
  }
}

}  // namespace

// An own cell: it exists whatever the extent owners say by now.
OperationCell& Agent::CellOf(const OperationPlace& place) const {
  return segment::AsOperation(*attachment_->manager().segment().CellByNumber(place.id - 1));
}

Status Agent::PutInRequest(uint32_t id, const segment::ResourceName& name,
                           const LockRequest& request) {
  segment::Segment& segment = attachment_->manager().segment();
  const segment::OperationTexts texts{
      {name.units(), name.length()}, CutText(request.label), CutText(request.call_site)};
  const Result<OperationPlace> place = attachment_->operations().Take(texts.cells());
  if (!place.ok()) return place.status();
  OperationCell& cell = CellOf(*place);
  segment::WriteTexts(segment, cell, place->text, texts);
  WriteRequest(cell, request);
  SetState(id, EntryState::kArriving);
  PutIn({.place = *place,
         .request_place = {},
         .shard = name.ShardIn(segment),
         .id = id,
         .kind = OperationKind::kRequest});
  return Status();
}

// `seen`: what this agent has seen of the record, and perhaps ended.
Status Agent::PutInEnd(uint32_t id, EndReason reason, CellState seen) {
  const Result<OperationPlace> place = attachment_->operations().Take(0);
  if (!place.ok()) return place.status();
  OperationCell& cell = CellOf(*place);
  Operation operation{.place = *place,
                      .request_place = {},
                      .shard = entries_[id].record.shard,
                      .id = id,
                      .kind = OperationKind::kEnd};
  const auto request =
      std::find_if(operations_.begin(), operations_.end(), [id](const Operation& other) {
        return other.id == id && other.kind == OperationKind::kRequest;
      });
  if (entries_[id].state == EntryState::kArriving && request != operations_.end()) {
    operation.request_place = request->place;
    operation.shard = request->shard;
  }
  cell.name_length.Set(0);
  cell.label_length.Set(0);
  cell.call_site_length.Set(0);
  cell.reason.Set(static_cast<uint8_t>(reason));
  cell.cell.Set(entries_[id].record.cell);
  cell.ticket.Set(entries_[id].record.ticket);
  cell.request.Set(operation.request_place.id);
  cell.ended.Set(seen);
  PutIn(operation);
  return Status();
}

// Common to both kinds. Any thread may execute the operation before this returns.
void Agent::PutIn(const Operation& operation) {
  OperationCell& cell = CellOf(operation.place);
  cell.shard.Set(operation.shard);
  cell.kind.Set(operation.kind);
  cell.process_slot.Set(self_.process.slot);
  cell.process_generation.Set(self_.process.generation);
  cell.agent.Set(self_.index);
  // A thread that reads this generation sees no contents from before this process owned the cell.
  cell.agent_generation.Publish(self_.generation);
  cell.request_id.Set(operation.id);
  cell.token.Set(0);
  cell.executor_slot.Set(self_.process.slot);
  attachment_->manager().PutIn(operation.place.id, cell);
  operations_.push_back(operation);
  operations_.back().number = cell.number.Get();
  if (cell.state.Acquire() == OperationState::kPending) {
    return Visit(operation.shard, {operation.place.id, cell.number.Get()});
  }
  attachment_->FollowExecutor(cell);
  LookForAnswers();
}

// The combiner may die after it has executed an operation and before it notifies the agent. It then
// leaves nothing that needs a repair.
void Agent::LookForAnswers() { entry_.answered.Exchange(1); }

// A cell may be written again once it is in no intake. A repair leaves an executed cell linked; a
// thread that enters the shard executes its intake, so the cell is not linked afterwards.
void Agent::GivePlace(const OperationPlace& place, uint32_t shard) {
  const auto pass = [attachment = attachment_.get(), shard, &cell = CellOf(place)](uint64_t wait) {
    WakeQueue wake_queue(attachment->manager().segment(), attachment->host());
    const auto lock = attachment->manager().Enter(shard, wake_queue, wait);
    if (lock.ok()) cell.state.Publish(OperationState::kDone);
    return lock.status().code();
  };
  const bool is_out = CellOf(place).state.Acquire() != OperationState::kExecuted;
  if (is_out || pass(kNoWait) == StatusCode::kOk) return attachment_->operations().Give(place);
  retired_.push_back(place);
  attachment_->worker().Defer(shard, this, [attachment = attachment_.get(), self = self_, pass] {
    const StatusCode code = pass(kWorkerTimeoutNs);
    if (code == StatusCode::kBusy) return code;
    attachment->manager().segment().agent(self.index).answered.Exchange(1);
    attachment->host().Ring(self);
    return code;
  });
}

void Agent::GiveRetired() {
  const auto is_out = [this](const OperationPlace& place) {
    return CellOf(place).state.Acquire() == OperationState::kDone;
  };
  const auto rest = std::stable_partition(retired_.begin(), retired_.end(),
                                          [&](const auto& place) { return !is_out(place); });
  attachment_->operations().Give({rest, retired_.end()});
  retired_.erase(rest, retired_.end());
}

// While an operation is in the intake, this process visits the shard until it is executed.
void Agent::Visit(uint32_t shard, const LockManager::OperationRef& operation) {
  std::shared_ptr<ShardVisit>& visit = visits_[shard];
  if (visit != nullptr && visit->Add(operation)) return;
  // The worker copies a task before each attempt; all attempts share the visit's state.
  visit = std::make_shared<ShardVisit>(*attachment_, self_, visit_log_, shard, operation);
  attachment_->worker().Defer(shard, this, [visit] { return (*visit)(); });
}

void Agent::ReadVisits(std::vector<RequestEvent>& events) {
  std::vector<uint32_t> done;
  std::vector<VisitLog::Stall> stalls;
  std::vector<VisitLog::End> ends;
  std::vector<VisitLog::Reaped> reaped;
  {
    const std::lock_guard<std::mutex> guard(visit_log_->mutex);
    done.swap(visit_log_->done);
    stalls.swap(visit_log_->stalls);
    ends.swap(visit_log_->ends);
    reaped.swap(visit_log_->reaped);
    visit_log_->has_news.store(false);
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
  for (const auto& [id, ended] : ends) Told(id, ended, 0, events);
  for (const auto& [id, attempts] : reaped) SubmitPostponed(id, attempts, events);
  for (const uint32_t shard : done) {
    const auto visit = visits_.find(shard);
    if (visit != visits_.end() && visit->second->IsOver()) visits_.erase(visit);
    // The operations that could not be executed.
    for (const Operation& operation : operations_) {
      const bool is_pending = CellOf(operation.place).state.Acquire() == OperationState::kPending;
      if (operation.shard != shard || !is_pending) continue;
      Visit(shard, {operation.place.id, operation.number});
    }
  }
  if (!done.empty()) LookForAnswers();
}

// Called after the events were taken and before they are read: the answer to an operation is stored
// before the event of its record.
void Agent::ReadAnswers(std::vector<RequestEvent>& events) {
  entry_.answered.Exchange(0);
  if (!retired_.empty()) GiveRetired();
  const std::vector<Operation> operations = std::exchange(operations_, {});
  // From the newest to the oldest. They are executed meanwhile, and an end after its request.
  std::vector<bool> is_pending(operations.size());
  for (size_t i = operations.size(); i-- > 0;) {
    is_pending[i] = CellOf(operations[i].place).state.Acquire() == OperationState::kPending;
  }
  for (size_t i = 0; i < operations.size(); ++i) {
    if (is_pending[i]) {
      operations_.push_back(operations[i]);
    } else {
      ReadAnswer(operations[i], events);
    }
  }
}

void Agent::ReadAnswer(const Operation& operation, std::vector<RequestEvent>& events) {
  const uint32_t id = operation.id;
  const OperationCell& cell = CellOf(operation.place);
  attachment_->FollowExecutor(cell);
  if (operation.kind == OperationKind::kEnd) {
    Told(id, cell.ended.Get(), cell.token.Get(), events);
    GivePlace(operation.place, operation.shard);
    if (operation.request_place.id != kNoCell) GivePlace(operation.request_place, operation.shard);
    return;
  }
  // Its end follows, and needs this answer.
  if (entries_[id].is_end_put_in) return;
  Result<RequestReply> reply = ReplyOf(cell);
  const bool is_missed = reply.ok() && reply->outcome == RequestOutcome::kMissed;
  if (is_missed && entries_[id].state != EntryState::kAbandoned) {
    reply = AnswerMiss(operation, *reply);
  }
  GivePlace(operation.place, operation.shard);
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

Result<RequestReply> Agent::AnswerMiss(const Operation& operation, const RequestReply& reply) {
  const OperationCell& cell = CellOf(operation.place);
  segment::OperationTexts texts;
  if (!segment::ReadTexts(attachment_->manager().segment(), operation.place.id, cell, texts)) {
    return reply;
  }
  const segment::ResourceName name(texts.name.data(), static_cast<uint32_t>(texts.name.size()));
  return AnswerLater(operation.id, name, LockRequestFrom(cell, texts), reply, 0);
}

// kBusy: the outcome comes later. The request is in the intake of its shard, or is made again once
// dead processes are reaped there.
Result<RequestReply> Agent::Submit(uint32_t id, const segment::ResourceName& name,
                                   const LockRequest& request, int attempts) {
  LockManager& manager = attachment_->manager();
  Result<RequestReply> reply = manager.Request(self_, name, request, kNoWait);
  if (reply.ok() && reply->outcome != RequestOutcome::kMissed) return reply;
  // A table that is full must not refuse a request for the sake of a name that is only kept.
  if (IsForWantOfRoom(reply.status()) && EndIdleKept()) {
    reply = manager.Request(self_, name, request, kNoWait);
  }
  return AnswerLater(id, name, request, reply, attempts);
}

// A dead holder must not make a lock unavailable.
Result<RequestReply> Agent::AnswerLater(uint32_t id, const segment::ResourceName& name,
                                        const LockRequest& request, Result<RequestReply> reply,
                                        int attempts) {
  const bool is_missed = reply.ok() && reply->outcome == RequestOutcome::kMissed;
  if (is_missed && attempts < kMaxDeadBlockers) {
    const Result<bool> is_later = PostponeIfDead(id, name, request, reply->blocker, attempts);
    if (is_later.ok() && *is_later) return Status(StatusCode::kBusy, "its holder has died");
    if (!is_later.ok()) reply = is_later.status();
  }
  if (reply.status().code() != StatusCode::kBusy) return reply;
  const Status put_in = PutInRequest(id, name, request);
  if (put_in.ok()) return reply;
  RepairIfBusy(reply.status());  // no visit does
  return put_in;
}

// Ending the records of the dead takes as long as they have many: the background worker does it.
Result<bool> Agent::PostponeIfDead(uint32_t id, const segment::ResourceName& name,
                                   const LockRequest& request, const Blocker& blocker,
                                   int attempts) {
  std::vector<segment::ProcessRef> dead;
  const auto add_if_dead = [&](segment::ProcessRef process) {
    if (process.generation == 0 || attachment_->host().IsAlive(process)) return;
    // The worker, or a sweep if there is none, also reaps the other shards.
    (void)attachment_->worker().Watch(process);
    dead.push_back(process);
  };
  if (blocker.several) {
    const auto holders = Holders(attachment_->manager(), name, kNoWait);
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
  const uint32_t shard = name.ShardIn(attachment_->manager().segment());
  attachment_->worker().Defer(
      shard, this,
      [attachment = attachment_.get(), log = visit_log_, self = self_, shard, id, dead, attempts] {
        bool was_busy = false;
        for (const segment::ProcessRef process : dead) {
          const Status done = attachment->manager().ReapInShard(process, shard, kWorkerTimeoutNs);
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

void Agent::SubmitPostponed(uint32_t id, int attempts, std::vector<RequestEvent>& events) {
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
void Agent::Told(uint32_t id, CellState ended, uint64_t token, std::vector<RequestEvent>& events) {
  const bool is_awaited = entries_[id].state == EntryState::kLeaving;
  entries_[id].is_end_put_in = false;
  FreeEntry(id);
  if (!is_awaited) return;
  events.push_back({id, KindOf(LossOf(ended)), token, Status()});
}

// The shard is locked: the end goes into the intake. For a request that was not granted no caller
// waits for the outcome.
Loss Agent::EndLater(uint32_t id, EndReason reason, CellState seen) {
  const bool is_held = IsHolding(entries_[id].state);
  const bool is_arriving = entries_[id].state == EntryState::kArriving;
  const bool is_put_in = PutInEnd(id, reason, seen).ok();
  ForgetHold(entries_[id]);
  entries_[id].is_end_put_in = is_put_in;
  SetState(id, is_held ? EntryState::kLeaving : EntryState::kAbandoned);
  // No room for another operation. A request in the intake is ended once it has left the intake.
  if (!is_put_in && !is_arriving) EndByWorker(id, reason, seen);
  return is_held ? Loss::kUnknown : Loss::kNone;
}

void Agent::EndByWorker(uint32_t id, EndReason reason, CellState seen) {
  const RecordRef record = entries_[id].record;
  attachment_->worker().Defer(
      record.shard, this,
      [attachment = attachment_.get(), log = visit_log_, self = self_, id, record, reason,
       state = std::make_shared<CellState>(seen)] {  // all attempts share it
        const Result<CellState> ended =
            attachment->manager().End(record, kWorkerTimeoutNs, reason, *state);
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

}  // namespace holdfast::core
