#include "core/combiner.h"

#include "core/blockers.h"
#include "core/extents.h"
#include "core/hold_limits.h"
#include "core/lock_table.h"
#include "core/shard_rules.h"
#include "platform/os_error.h"
#include "segment/record_pool.h"
#include "segment/request_list.h"

namespace holdfast::core {

using segment::AgentRef;
using segment::CellId;
using segment::CellState;
using segment::kNoCell;
using segment::OperationCell;
using segment::OperationKind;
using segment::OperationState;
using segment::RequestCell;

namespace {

void Answer(OperationCell& operation, const RequestReply& reply) {
  operation.cell.Set(reply.record.cell);
  operation.ticket.Set(reply.record.ticket);
  operation.token.Set(reply.token);
  operation.blocker_process.Set(reply.blocker.process.ToWord());
  operation.blocker_holder.Set(reply.blocker.holder);
  operation.several_blockers.Set(reply.blocker.several ? 1 : 0);
  operation.has_hold_limits.Set(reply.has_to_do_with_hold_limits ? 1 : 0);
  operation.outcome.Set(static_cast<uint32_t>(reply.outcome));
}

EndReason ReasonOf(const OperationCell& operation) {
  const uint8_t reason = operation.reason.Get();
  return reason <= static_cast<uint8_t>(EndReason::kOwnerDied) ? static_cast<EndReason>(reason)
                                                               : EndReason::kReleased;
}

}  // namespace

RequestParams RequestParamsFrom(const OperationCell& operation,
                                const segment::OperationTexts& texts) {
  RequestParams request;
  request.request_id = operation.request_id.Get();
  request.mode = operation.mode.Get() == static_cast<uint8_t>(LockMode::kShared)
                     ? LockMode::kShared
                     : LockMode::kExclusive;
  request.max_pending = operation.argument.Get();
  request.steal = operation.steals.Get() != 0;
  request.priority = ToPriority(operation.reason.Get());
  request.limit = operation.limit.Get();
  request.hold_limit_ns = operation.hold_limit_ns.Get();
  request.label = texts.label;
  request.call_site = texts.call_site;
  request.enclosing_token = operation.enclosing_token.Get();
  request.now_ms = operation.requested_ms.Get();
  return request;
}

bool Combiner::Execute(CellId id, OperationCell& operation, Occasion occasion) {
  const OperationState afterwards =
      occasion == Occasion::kRepair ? OperationState::kExecuted : OperationState::kDone;
  if (operation.state.Get() == OperationState::kExecuted) {
    operation.state.Publish(afterwards);
    return true;
  }
  const AgentRef agent = segment::AgentOf(shard_.segment(), operation);
  if (agent.generation != 0 && !Run(id, operation, agent, occasion)) return false;
  operation.combiner_slot.Set(self_.slot);
  operation.state.Publish(afterwards);
  // From here on only the agent may touch the operation.
  if (agent.generation == 0) return true;
  shard_.segment().agent(agent.index).answered.Exchange(1);
  wake_queue_.Add(agent.index);
  return true;
}

bool Combiner::Run(CellId id, OperationCell& operation, const AgentRef& agent, Occasion occasion) {
  if (operation.kind.Get() == OperationKind::kEnd) return RunEnd(operation);
  return RunRequest(id, operation, agent, occasion);
}

bool Combiner::RunRequest(CellId id, OperationCell& operation, const AgentRef& agent,
                          Occasion occasion) {
  if (occasion == Occasion::kRepair && AnswerFromRecord(operation, agent)) return true;
  segment::OperationTexts texts;
  if (!segment::ReadTexts(shard_.segment(), id, operation, texts)) {
    operation.outcome.Set(segment::kRefused | static_cast<uint32_t>(StatusCode::kSegmentBroken));
    return true;
  }
  const segment::ResourceName name(texts.name.data(), static_cast<uint32_t>(texts.name.size()));
  const RequestParams request = RequestParamsFrom(operation, texts);
  for (;;) {
    const RequestReply reply = ShardRules(shard_, wake_queue_).Request(agent, name, request);
    if (shard_.header().dirty.Get() != 0) return false;
    if (reply.missing_cells == 0) {
      Answer(operation, reply);
      return true;
    }
    const Status grown = Grow(reply.missing_cells);
    if (grown.ok()) continue;
    operation.outcome.Set(segment::kRefused | static_cast<uint32_t>(grown.code()) |
                          static_cast<uint32_t>(grown.os_error()) << segment::kRefusedErrorBit);
    return true;
  }
}

// After a death inside: if the request was executed and not marked, its record waits or holds.
[[gnu::cold]] bool Combiner::AnswerFromRecord(OperationCell& operation, const AgentRef& agent) {
  CellId id = segment::AgentList(shard_, agent.index).First();
  for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    const RequestCell* const request = shard_.RequestAt(id);
    if (request == nullptr) return false;
    const CellState state = request->state.Get();
    const bool is_same = request->request_id.Get() == operation.request_id.Get() &&
                         request->agent_generation.Get() == agent.generation &&
                         (state == CellState::kWaiting || state == CellState::kHeld);
    if (is_same) {
      const RecordRef record{id, shard_.index(), request->ticket.Get()};
      Answer(operation, ReplyFromRecord(shard_, record, *request));
      return true;
    }
    id = request->agent_next.Get();
  }
  return false;
}

RecordRef Combiner::RecordOf(const OperationCell& operation) const {
  const CellId request_id = operation.argument.Get();
  if (request_id == kNoCell) {
    return {operation.cell.Get(), shard_.index(), operation.ticket.Get()};
  }
  const OperationCell* const request = segment::OperationAt(shard_.segment(), request_id);
  const bool is_executed = request != nullptr &&
                           request->state.Acquire() != OperationState::kPending &&
                           request->kind.Get() == OperationKind::kRequest &&
                           request->agent.Get() == operation.agent.Get();
  if (!is_executed) return {};
  return {request->cell.Get(), shard_.index(), request->ticket.Get()};
}

bool Combiner::RunEnd(OperationCell& operation) {
  const RecordRef record = RecordOf(operation);
  RequestCell* const request = record.cell == kNoCell ? nullptr : RequestOf(shard_, record);
  // The record is gone. An owner that died here has ended it and noted its state, or it ended
  // earlier.
  if (request == nullptr || request->state.Get() == CellState::kZombie) return true;
  const bool is_late =
      request->hold_limit_ns.Get() != 0 && IsHeldTooLong(*request, wake_queue_.host());
  operation.token.Set(request->token.Get());
  operation.ended.Set(is_late ? CellState::kExpired : request->state.Get());
  ShardRules(shard_, wake_queue_)
      .End(record.cell, *request, is_late ? EndReason::kExpired : ReasonOf(operation));
  return shard_.header().dirty.Get() == 0;
}

// Inside the shard, unlike elsewhere, because the operations behind this one must wait for it. It
// is rare, and takes as long as one system call.
[[gnu::cold]] Status Combiner::Grow(uint32_t cells) {
  ExtentGrowth growth(shard_.segment(), wake_queue_.host(), self_);
  const Result<std::vector<uint32_t>> extents = growth.Claim(cells);
  if (!extents.ok()) return extents.status();
  segment::RecordPool pool(shard_);
  for (const uint32_t extent : *extents) pool.AddExtent(extent, growth.ClaimWord());
  return Status();
}

Result<RequestReply> ReplyOf(const OperationCell& operation) {
  const uint32_t outcome = operation.outcome.Get();
  const uint32_t refusal = outcome % (1U << segment::kRefusedErrorBit);
  if (refusal == (segment::kRefused | static_cast<uint32_t>(StatusCode::kSegmentFull))) {
    return Status(StatusCode::kSegmentFull, "the lock table is full (see the capacity option)");
  }
  if (refusal == (segment::kRefused | static_cast<uint32_t>(StatusCode::kNoSpace))) {
    return platform::OsError("cannot reserve space for the segment",
                             static_cast<int>(outcome >> segment::kRefusedErrorBit));
  }
  if (outcome > static_cast<uint32_t>(RequestOutcome::kMissed)) {
    return Status(StatusCode::kSegmentBroken, "the request was corrupted while it was queued");
  }
  RequestReply reply;
  reply.outcome = static_cast<RequestOutcome>(outcome);
  reply.record = {operation.cell.Get(), operation.shard.Get(), operation.ticket.Get()};
  reply.token = operation.token.Get();
  reply.blocker = {segment::ProcessRef::FromWord(operation.blocker_process.Get()),
                   operation.several_blockers.Get() != 0, operation.blocker_holder.Get()};
  reply.has_to_do_with_hold_limits = operation.has_hold_limits.Get() != 0;
  return reply;
}

RequestReply ReplyFromRecord(const segment::ShardView& shard, const RecordRef& record,
                             const RequestCell& request) {
  RequestReply reply;
  reply.has_to_do_with_hold_limits = true;  // maybe: the check finds out
  reply.record = record;
  if (request.state.Get() == CellState::kWaiting) {
    reply.outcome = RequestOutcome::kQueued;
    reply.blocker = BlockerOf(shard, request);
  } else {
    reply.outcome = RequestOutcome::kGranted;
    reply.token = request.token.Get();
  }
  return reply;
}

}  // namespace holdfast::core
