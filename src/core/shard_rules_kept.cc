// Names whose record is kept by the agent that used them last (segment/kept_record.h).
#include "core/grantable.h"
#include "core/request_record.h"
#include "core/shard_rules.h"
#include "segment/intake.h"
#include "segment/kept_record.h"
#include "segment/request_list.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::kNoCell;
using segment::NameCell;
using segment::RequestCell;
using segment::RequestList;

// A name whose holders are not counted has one record, which is or was open (invariant I16). Closes
// it, then counts it or takes it out of the list. Afterwards the name may be unused.
void ShardRules::Settle(NameCell& name) {
  const HeldCounts held = CountsOf(name);
  const CellId id = name.held_head.Get();
  if (held.exclusive + held.shared != 0 || id == kNoCell) return;
  RequestCell* const request = shard_.RequestAt(id);
  if (request == nullptr) return shard_.MarkDamaged();
  const CellState state = segment::Close(*request);
  segment::ForgetKept(shard_.header(), id);
  if (state == CellState::kHeld) {
    return CountOf(name, ModeOf(*request)).Set(1);
  }
  if (state != CellState::kRevoked) return shard_.MarkDamaged();
  if (!RequestList::Held(shard_, name).Remove(id, *request)) return;
  // Its agent frees it later, when the cell of the name may be another's.
  request->name.Set(kNoCell);
}

void ShardRules::SettleNameOf(CellId id, const RequestCell& request) {
  const CellId name_id = request.name.Get();
  NameCell* const name = shard_.NameAt(name_id);
  if (name == nullptr || name->held_head.Get() != id) return;
  Settle(*name);
  if (request.state.Get() == CellState::kRevoked) ProcessLockRequestQueue(name_id);
}

bool ShardRules::MayBeKept(const RequestCell& request, const NameCell& name) const {
  const HeldCounts held = CountsOf(name);
  return (shard_.header().watched.Get() & 1) == 0 && held.exclusive + held.shared == 1 &&
         name.queue_head.Get() == kNoCell && request.event_next.Get() == segment::kNotLinked &&
         request.label.Get() == kNoCell && request.call_site.Get() == kNoCell &&
         request.limit.Get() == 0 && request.hold_limit_ns.Get() == 0 &&
         request.enclosing_token.Get() == 0;
}

// A death before the state is stored leaves a held lock of the dead; after it, a kept record of the
// dead, which any thread may close. In both cases the shard is repaired.
bool ShardRules::EndOrKeep(CellId id, RequestCell& request) {
  SettleNameOf(id, request);
  NameCell* const name = shard_.NameAt(request.name.Get());
  const bool is_candidate =
      request.state.Get() == CellState::kHeld && name != nullptr && MayBeKept(request, *name);
  if (!is_candidate || !segment::NoteKept(shard_.header(), id)) {
    End(id, request);
    return false;
  }
  name->held_exclusive.Set(0);
  name->held_shared.Set(0);
  request.state.Exchange(segment::KeptState(request.ticket.Get()));
  // Not before: an agent that puts an operation into the intake, or begins to watch, closes the
  // open records after that. Either it finds this one, or this thread sees it here.
  const bool is_alone =
      !segment::HasOperations(shard_.header()) && (shard_.header().watched.LoadSeqCst() & 1) == 0;
  if (is_alone) return true;
  // As if it had not been kept, so that a watcher finds the event.
  request.state.Publish(CellState::kHeld);
  End(id, request);
  return false;
}

}  // namespace holdfast::core
