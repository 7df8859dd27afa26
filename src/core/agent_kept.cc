// How an agent keeps the records of names that it used last
// (docs/decisions/0025-kept-names.md).
#include "core/agent.h"
#include "core/request_record.h"
#include "core/shard_timeouts.h"
#include "segment/kept_record.h"

namespace holdfast::core {

using segment::CellState;

Agent::Released Agent::EndOrKeep(uint32_t id) {
  const bool may_keep = id < entries_.size() && entries_[id].state == EntryState::kHeld &&
                        kept_.HasRoom() && !attachment_->IsForkedChild();
  if (!may_keep) return {End(id)};
  CellState state = CellState::kFree;
  const Result<bool> is_kept =
      attachment_->manager().EndOrKeep(entries_[id].record, kNoWait, state);
  if (is_kept.status().code() == StatusCode::kBusy) {
    return {EndLater(id, EndReason::kReleased, state)};
  }
  if (is_kept.ok() && *is_kept) {
    ForgetHold(entries_[id]);
    SetState(id, EntryState::kKept);
    const segment::RequestCell& record = segment::AsRequest(
        *attachment_->manager().segment().CellByNumber(entries_[id].record.cell - 1));
    return {Loss::kNone, kept_.Add(id, record.token.Get())};
  }
  FreeEntry(id);
  return {LossOf(state)};
}

segment::RequestCell& Agent::KeptRecord(uint32_t slot) const {
  const RecordRef& record = entries_[kept_.IdOf(slot)].record;
  return segment::AsRequest(*attachment_->manager().segment().CellByNumber(record.cell - 1));
}

// The token of the hold; 0: the record was closed.
uint64_t Agent::TakeKept(uint32_t slot, LockMode mode) {
  const uint64_t token = NextToken(attachment_->manager().segment(), attachment_->host());
  const segment::Hold hold{token, turn_ms_, static_cast<uint8_t>(mode)};
  return segment::TakeKept(KeptRecord(slot), KeptTicket(slot), hold) ? token : 0;
}

bool Agent::GiveBack(uint32_t slot) {
  return segment::GiveBack(KeptRecord(slot), KeptTicket(slot));
}

bool Agent::IsIdle() const {
  if (in_use_ > KeptSlots::kMax || watches_.IsAnyOpen()) return false;
  uint32_t idle = 0;
  for (uint32_t slot = 0; slot < KeptSlots::kMax; ++slot) {
    if (!IsKept(slot)) continue;
    const CellState state = KeptRecord(slot).state.Get();
    if (state == CellState::kRevoked || state == segment::KeptState(KeptTicket(slot))) ++idle;
  }
  return idle == in_use_;
}

// Whether it ended any.
bool Agent::EndIdleKept() {
  bool has_ended = false;
  for (uint32_t slot = 0; slot < KeptSlots::kMax; ++slot) {
    const uint32_t id = kept_.IdOf(slot);
    if (id == KeptSlots::kNone) continue;
    const CellState state = KeptRecord(slot).state.Get();
    const bool is_idle =
        state == CellState::kRevoked || state == segment::KeptState(KeptTicket(slot));
    if (!is_idle) continue;
    const RecordRef record = entries_[id].record;
    FreeEntry(id);  // before the record: its cell may be another's then
    EndRecord(record);
    has_ended = true;
  }
  return has_ended;
}

// Ends what was not used since the last sweep, so that an idle process has nothing to sweep for,
// and what others have closed, so that the table has its cells back.
void Agent::SweepKept() {
  for (uint32_t slot = 0; slot < KeptSlots::kMax; ++slot) {
    const uint32_t id = kept_.IdOf(slot);
    if (id == KeptSlots::kNone) continue;
    const segment::RequestCell& record = KeptRecord(slot);
    const CellState state = record.state.Get();
    const bool is_unused =
        kept_.IsIdle(slot, record.token.Get()) && state == segment::KeptState(KeptTicket(slot));
    if (!is_unused && state != CellState::kRevoked) continue;
    const RecordRef ref = entries_[id].record;
    FreeEntry(id);
    EndRecord(ref);
  }
}

}  // namespace holdfast::core
