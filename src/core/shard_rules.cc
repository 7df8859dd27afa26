#include "core/shard_rules.h"

#include <algorithm>

#include "core/blockers.h"
#include "core/grantable.h"
#include "core/request_record.h"
#include "segment/biased_record.h"
#include "segment/event_list.h"
#include "segment/publication_list.h"
#include "segment/record_pool.h"
#include "segment/request_list.h"
#include "segment/watch_ring.h"

namespace holdfast::core {

using segment::AgentList;
using segment::AsRequest;
using segment::CellId;
using segment::CellState;
using segment::Contention;
using segment::kNoCell;
using segment::LockEvent;
using segment::NameCell;
using segment::NameTable;
using segment::QueuePosition;
using segment::RecordPool;
using segment::RequestCell;
using segment::RequestList;
using segment::ToContention;
using segment::WatchRingWriter;

namespace {

bool IsGrantableNext(const RequestCell& request, const NameCell& name) {
  return IsGrantable(ModeOf(request), true, CountsOf(name), request.limit.Get());
}

// Without a holder no request has to wait: if one waits, the counts or the list are corrupted.
bool HasNoHolder(const NameCell& name) { return name.held_head.Get() == kNoCell; }

// False: the name has no holder, or its holder is a record that is or was open.
bool HasCounted(const NameCell& name) {
  return name.held_exclusive.Get() + name.held_shared.Get() != 0;
}

QueuePosition PositionOf(const RequestCell& request) {
  return QueuePosition::FromWord(request.queue_position.Get());
}

// Whether a request of this priority and age may go before a waiting one.
bool MayPass(Priority priority, uint64_t ticket, const RequestCell& waiting) {
  const QueuePosition position = PositionOf(waiting);
  const bool is_older = ticket < waiting.ticket.Get();
  if (priority == position.priority) return is_older;
  return priority > position.priority && (is_older || position.overtakes < segment::kMaxOvertakes);
}

// Younger than every request so far.
constexpr uint64_t kNewTicket = UINT64_MAX;

// For a WatchRingWriter.
constexpr bool kRoutine = false;
constexpr bool kIncident = true;

LockEvent EventOf(EndReason reason, LockEvent released) {
  switch (reason) {
    case EndReason::kTimedOut:
      return LockEvent::kTimedOut;
    case EndReason::kExpired:
      return LockEvent::kExpired;
    case EndReason::kOwnerDied:
      return LockEvent::kDied;
    default:
      return released;
  }
}

}  // namespace

RequestReply ShardRules::Request(const segment::AgentRef& agent, const segment::ResourceName& name,
                                 const RequestParams& request) {
  RequestReply reply;  // every return names it: a copy of what was just stored would stall
  NameTable names(shard_);
  NameTable::Found found = names.Find(name);
  if (found.corrupted) return reply;
  if (found.cell != nullptr && !HasCounted(*found.cell)) Settle(*found.cell);
  const bool is_alone = found.cell == nullptr || found.cell->queue_head.Get() == kNoCell;
  const HeldCounts held = found.cell == nullptr ? HeldCounts{} : CountsOf(*found.cell);
  const bool fits = IsGrantable(request.mode, true, held, request.limit);
  const bool is_first =
      is_alone || (fits && PredecessorOf(*found.cell, request.priority, kNewTicket) == kNoCell);
  const bool is_granted = request.steal || (is_first && fits);
  if (!is_granted && is_alone && HasNoHolder(*found.cell)) {
    shard_.MarkCorrupted();
    return reply;
  }
  if (!is_granted && HasWaiting(*found.cell, request.max_pending)) {
    reply.blocker = BlockerOfMiss(shard_, request, *found.cell);
    return reply;
  }
  const uint32_t name_cells = found.cell == nullptr ? NameTable::CellsFor(name.length()) : 0;
  const uint32_t cells = name_cells + CellsForRecord(request);
  const uint32_t free_cells = RecordPool(shard_).FreeCount();
  if (free_cells < cells) {
    reply.missing_cells = cells - free_cells;
    // Settling may have left it unused.
    if (found.cell != nullptr) RemoveIfUnused(found.id, *found.cell);
    return reply;
  }
  if (found.cell == nullptr) found = names.Add(name);
  if (found.corrupted) return reply;
  const CellId id = TakeRecord(shard_, agent, request, found.id);
  if (id == kNoCell) return reply;
  RequestCell& record = AsRequest(*shard_.segment().CellByNumber(id - 1));
  reply.record = {id, shard_.index(), record.ticket.Get()};
  if (is_granted) {
    StampGrant(shard_.segment(), wake_queue_.host(), record, request.now_ms);
    if (request.steal) {
      Steal(id, record, *found.cell);
    } else {
      if (!is_alone) PassWaiting(*found.cell, kNoCell, record);
      const WatchRingWriter note(shard_, kRoutine);
      // A death before this store leaves a free cell; after it, a held lock, whatever the links
      // are.
      record.state.Publish(CellState::kHeld);
      note.Write(wake_queue_.host(), LockEvent::kGranted, record, *found.cell);
      AddHeld(id, record, *found.cell);
      if (!is_alone) ReportPassed(record, found.cell->queue_head.Get());
    }
    reply.outcome = RequestOutcome::kGranted;
    reply.token = record.token.Get();
  } else {
    Enqueue(id, record, *found.cell);
    reply.outcome = RequestOutcome::kQueued;
    reply.blocker = BlockerOf(shard_, record);
  }
  AgentList(shard_, agent.index).Add(id, record);
  if (request.hold_limit_ns != 0) segment::CountHoldLimit(*found.cell, record);
  reply.has_to_do_with_hold_limits =
      is_granted ? request.hold_limit_ns != 0 : found.cell->hold_limited.Get() != 0;
  return reply;
}

// Whether at least `count` requests wait for the name.
bool ShardRules::HasWaiting(const NameCell& name, uint32_t count) const {
  if (count > shard_.MaxCells()) return false;
  CellId id = name.queue_head.Get();
  for (uint32_t waiting = 0; waiting < count; ++waiting) {
    const RequestCell* const request = shard_.RequestAt(id);
    if (request == nullptr) return false;
    id = request->next.Get();
  }
  return true;
}

void ShardRules::Enqueue(CellId id, RequestCell& request, NameCell& name) {
  request.requested_ms.Set(wake_queue_.host().RealtimeMs());
  const WatchRingWriter note(shard_, kRoutine);
  request.state.Publish(CellState::kWaiting);
  note.Write(wake_queue_.host(), LockEvent::kQueued, request, name);
  const Priority priority = PositionOf(request).priority;
  const RequestCell* const first = shard_.RequestAt(name.queue_head.Get());
  // The first request does not always have the highest priority that waits, but none below it.
  const bool may_be_highest = first == nullptr || priority > PositionOf(*first).priority;
  if (PutInQueue(id, request, name) && may_be_highest)
    ReportContention(name, ToContention(priority));
}

CellId ShardRules::PredecessorOf(const NameCell& name, Priority priority, uint64_t ticket) const {
  CellId id = name.queue_tail.Get();
  for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    const RequestCell* const waiting = shard_.RequestAt(id);
    if (waiting == nullptr || !MayPass(priority, ticket, *waiting)) return id;
    id = waiting->previous.Get();
  }
  return id;
}

// Counts in an older request of a lower priority that this one passes it.
void ShardRules::CountOvertake(RequestCell& waiting, const RequestCell& request) {
  QueuePosition position = PositionOf(waiting);
  const bool is_overtaken = PositionOf(request).priority > position.priority &&
                            waiting.ticket.Get() < request.ticket.Get();
  if (!is_overtaken) return;
  ++position.overtakes;
  waiting.queue_position.Set(position.ToWord());
}

// A new request passes all behind `predecessor`.
[[gnu::cold]] void ShardRules::PassWaiting(const NameCell& name, CellId predecessor,
                                           RequestCell& request) {
  CellId id = name.queue_tail.Get();
  for (uint32_t steps = 0; id != predecessor && steps <= shard_.MaxCells(); ++steps) {
    RequestCell* const waiting = shard_.RequestAt(id);
    if (waiting == nullptr) return shard_.MarkCorrupted();
    CountOvertake(*waiting, request);
    id = waiting->previous.Get();
  }
  Renumber(name, predecessor, request);
}

// A request with a higher priority than before passes those directly before it. Returns the request
// behind which it stands then.
CellId ShardRules::PassBefore(const RequestCell& request) {
  const Priority priority = PositionOf(request).priority;
  CellId id = request.previous.Get();
  for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    RequestCell* const waiting = shard_.RequestAt(id);
    if (waiting == nullptr || !MayPass(priority, request.ticket.Get(), *waiting)) break;
    CountOvertake(*waiting, request);
    id = waiting->previous.Get();
  }
  return id;
}

// A request with a lower priority than before lets those directly behind it pass. Returns the last
// of them; itself: none passes.
CellId ShardRules::LetPass(CellId id, const RequestCell& request) const {
  const Priority priority = PositionOf(request).priority;
  CellId last = id;
  CellId next_id = request.next.Get();
  for (uint32_t steps = 0; next_id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    const RequestCell* const next = shard_.RequestAt(next_id);
    if (next == nullptr) break;
    const Priority other = PositionOf(*next).priority;
    const bool is_older = next->ticket.Get() < request.ticket.Get();
    if (other < priority || (other == priority && !is_older)) break;
    last = next_id;
    next_id = next->next.Get();
  }
  return last;
}

// Gives larger orders to all behind `predecessor`, the last one first, and then to the request.
[[gnu::cold]] void ShardRules::Renumber(const NameCell& name, CellId predecessor,
                                        RequestCell& request) {
  uint64_t passed = 0;
  for (CellId id = name.queue_tail.Get(); id != predecessor && passed <= shard_.MaxCells();) {
    const RequestCell* const waiting = shard_.RequestAt(id);
    if (waiting == nullptr) return shard_.MarkCorrupted();
    id = waiting->previous.Get();
    ++passed;
  }
  const uint64_t order = shard_.header().last_ticket.Get() + 1;
  shard_.header().last_ticket.Set(order + passed);
  QueuePosition own = PositionOf(request);
  CellId id = name.queue_tail.Get();
  for (; passed > 0; --passed) {
    RequestCell* const waiting = shard_.RequestAt(id);
    if (waiting == nullptr) return shard_.MarkCorrupted();
    QueuePosition position = PositionOf(*waiting);
    position.order = order + passed;
    waiting->queue_position.Set(position.ToWord());
    id = waiting->previous.Get();
  }
  own.order = order;
  request.queue_position.Set(own.ToWord());
}

bool ShardRules::PutInQueue(CellId id, RequestCell& request, NameCell& name) {
  RequestList queue = RequestList::Queue(shard_, name);
  const CellId predecessor =
      PredecessorOf(name, PositionOf(request).priority, request.ticket.Get());
  if (predecessor == queue.Last()) return queue.Append(id, request);
  PassWaiting(name, predecessor, request);
  if (!queue.InsertBehind(predecessor, id, request)) return false;
  ReportPassed(request, request.next.Get());
  return true;
}

// Those behind it may not know of its hold limit, and the first of them has a new blocker, whose
// process no other watches yet. So that waiter is rung inside the shard: this process may die
// before a later ring.
[[gnu::cold]] void ShardRules::ReportPassed(const RequestCell& request, CellId next_id) {
  const RequestCell* const next = shard_.RequestAt(next_id);
  if (next == nullptr) return;
  if (request.hold_limit_ns.Get() != 0) ReportHoldLimit(next_id);
  PostIfBlockerChanged(next_id);
  wake_queue_.RingNow(next->agent.Get());
}

// A death between two of these stores leaves the old position or the new one.
[[gnu::cold]] void ShardRules::ChangePriority(CellId id, RequestCell& request, Priority priority) {
  QueuePosition position = PositionOf(request);
  const Priority old = position.priority;
  if (priority == old) return;
  position.priority = priority;
  request.queue_position.Set(position.ToWord());
  if (request.state.Get() != CellState::kWaiting) return;
  const CellId name_id = request.name.Get();
  NameCell* const name = shard_.NameAt(name_id);
  if (name == nullptr) return shard_.MarkCorrupted();
  const CellId follower = request.next.Get();
  const CellId previous = request.previous.Get();
  const CellId predecessor = priority > old ? PassBefore(request) : LetPass(id, request);
  if (predecessor == previous || predecessor == id) {
    return ReportContention(*name, ToContention(priority));
  }
  RequestList queue = RequestList::Queue(shard_, *name);
  if (!queue.Remove(id, request)) return;
  Renumber(*name, predecessor, request);
  if (!queue.InsertBehind(predecessor, id, request)) return;
  ReportPassed(request, request.next.Get());
  ReportContention(*name, ToContention(priority));
  ProcessLockRequestQueue(name_id);
  for (const CellId changed : {follower, id}) {
    const RequestCell* const waiting = shard_.RequestAt(changed);
    if (waiting != nullptr && waiting->state.Get() == CellState::kWaiting) {
      PostIfBlockerChanged(changed);
    }
  }
}

Contention ShardRules::HighestWaiting(const NameCell& name, Contention most) const {
  Contention highest = Contention::kNone;
  CellId id = name.queue_head.Get();
  for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    const RequestCell* const waiting = shard_.RequestAt(id);
    if (waiting == nullptr) break;
    highest = std::max(highest, ToContention(PositionOf(*waiting).priority));
    if (highest >= most) break;
    id = waiting->next.Get();
  }
  return highest;
}

// Notifies the holders that watch. `added`: of a request that waits, or has this priority, since
// the last report. A death in between leaves a holder to notify, and a repair notifies it (I19).
void ShardRules::ReportContention(const NameCell& name, Contention added) {
  if (shard_.header().contention_watches.Get() == 0) return;
  Contention most = added;
  bool is_watched = false;
  CellId id = name.held_head.Get();
  for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    const RequestCell* const holder = shard_.RequestAt(id);
    if (holder == nullptr) return shard_.MarkCorrupted();
    const Contention contention = holder->contention.Get();
    is_watched = is_watched || contention != Contention::kUnwatched;
    most = std::max(most, contention);
    id = holder->next.Get();
  }
  if (!is_watched) return;
  const Contention highest = HighestWaiting(name, most);
  id = name.held_head.Get();
  for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
    RequestCell* const holder = shard_.RequestAt(id);
    if (holder == nullptr) return shard_.MarkCorrupted();
    const Contention contention = holder->contention.Get();
    if (contention != Contention::kUnwatched && contention != highest) {
      holder->contention.Set(highest);
      PostEvent(id, *holder);
    }
    id = holder->next.Get();
  }
}

// A request with this priority has left the queue.
void ShardRules::ReportWaitsNoMore(const NameCell& name, Priority priority) {
  if (shard_.header().contention_watches.Get() == 0) return;
  const RequestCell* const first = shard_.RequestAt(name.queue_head.Get());
  if (first != nullptr && PositionOf(*first).priority >= priority) return;
  ReportContention(name, Contention::kNone);
}

[[gnu::cold]] Contention ShardRules::WatchContention(CellId id, RequestCell& request, bool posts) {
  SettleNameOf(id, request);
  NameCell* const name = shard_.NameAt(request.name.Get());
  if (request.state.Get() != CellState::kHeld || name == nullptr) return Contention::kNone;
  const Contention highest = HighestWaiting(*name, Contention::kUserBlocking);
  segment::Shared<uint32_t>& watches = shard_.header().contention_watches;
  if (request.contention.Get() == Contention::kUnwatched) watches.Set(watches.Get() + 1);
  request.contention.Set(highest);
  if (posts && highest != Contention::kNone) PostEvent(id, request);
  return highest;
}

// Takes every held lock of the name and holds it instead. The intent is committed first: a repair
// finds kStealing and takes the locks that are still held (older tickets only).
[[gnu::cold]] void ShardRules::Steal(CellId id, RequestCell& stealer, NameCell& name) {
  WakeBeforeSteal(stealer, name);
  stealer.state.Publish(CellState::kStealing);
  for (uint32_t steps = 0; steps <= shard_.MaxCells(); ++steps) {
    const CellId victim_id = name.held_head.Get();
    if (victim_id == kNoCell) break;
    RequestCell* const victim = shard_.RequestAt(victim_id);
    if (victim == nullptr) return shard_.MarkCorrupted();
    const WatchRingWriter note(shard_, kIncident);
    victim->state.Publish(CellState::kStolen);
    note.Write(wake_queue_.host(), LockEvent::kStolen, *victim, name);
    if (!RemoveHeld(victim_id, *victim, name)) return;
    PostEvent(victim_id, *victim);
  }
  const WatchRingWriter note(shard_, kRoutine);
  stealer.state.Publish(CellState::kHeld);
  note.Write(wake_queue_.host(), LockEvent::kGranted, stealer, name);
  if (!AddHeld(id, stealer, name)) return;
  if (stealer.hold_limit_ns.Get() != 0) ReportHoldLimit(name.queue_head.Get());
}

// The first waiter watches the previous holders, and no process watches the stealer yet. So the
// waiter is rung here, inside the shard and before the steal: the stealer may die before a later
// ring. The waiter cannot enter before the stealer has left the shard or died in it. Then the
// waiter finds the stealer, or a shard to repair.
[[gnu::cold]] void ShardRules::WakeBeforeSteal(const RequestCell& stealer, const NameCell& name) {
  const RequestCell* const first = shard_.RequestAt(name.queue_head.Get());
  if (first == nullptr || shard_.segment().OwnerOf(*first) == shard_.segment().OwnerOf(stealer))
    return;
  wake_queue_.RingToRescan(first->agent.Get());
}

// A stealer, or an urgent request, passes requests that did not have its hold limit. Enough of
// them, from the first one on, are notified that at least one of their processes runs.
[[gnu::cold]] void ShardRules::ReportHoldLimit(CellId id) {
  constexpr uint32_t kMaxReported = 64;
  for (uint32_t reported = 0; id != kNoCell && reported < kMaxReported; ++reported) {
    RequestCell* const request = shard_.RequestAt(id);
    if (request == nullptr) return shard_.MarkCorrupted();
    PostEvent(id, *request);
    id = request->next.Get();
  }
}

bool ShardRules::AddHeld(CellId id, RequestCell& request, NameCell& name) {
  if (!RequestList::Held(shard_, name).Append(id, request)) return false;
  segment::Shared<uint32_t>& count = CountOf(name, ModeOf(request));
  count.Set(count.Get() + 1);
  return true;
}

// REQUIRES: it is in none of the name's lists.
bool ShardRules::Leave(const RequestCell& request, NameCell& name) {
  if (segment::UncountHoldLimit(name, request)) return true;
  shard_.MarkCorrupted();
  return false;
}

bool ShardRules::RemoveFromQueue(CellId id, RequestCell& request, NameCell& name) {
  return RequestList::Queue(shard_, name).Remove(id, request) && Leave(request, name);
}

bool ShardRules::RemoveHeld(CellId id, RequestCell& request, NameCell& name) {
  if (!RequestList::Held(shard_, name).Remove(id, request)) return false;
  if (!Leave(request, name)) return false;
  if (request.contention.Get() != Contention::kUnwatched) {
    segment::Shared<uint32_t>& watches = shard_.header().contention_watches;
    if (watches.Get() != 0) watches.Set(watches.Get() - 1);
    request.contention.Set(Contention::kUnwatched);
  }
  segment::Shared<uint32_t>& count = CountOf(name, ModeOf(request));
  count.Set(count.Get() - 1);
  return true;
}

bool ShardRules::Grant(CellId id, RequestCell& request, NameCell& name) {
  StampGrant(shard_.segment(), wake_queue_.host(), request, wake_queue_.host().RealtimeMs());
  const WatchRingWriter note(shard_, kRoutine);
  // A death before this store leaves it waiting; after it, held, and repair makes its agent
  // rescan.
  request.state.Publish(CellState::kHeld);
  note.Write(wake_queue_.host(), LockEvent::kGranted, request, name);
  if (!RequestList::Queue(shard_, name).Remove(id, request)) return false;
  if (!AddHeld(id, request, name)) return false;
  PostEvent(id, request);
  return true;
}

void ShardRules::ProcessLockRequestQueue(CellId name_id) {
  NameCell* const name = shard_.NameAt(name_id);
  if (name == nullptr) return shard_.MarkCorrupted();
  uint32_t grants = 0;
  Priority highest = Priority::kBackground;
  for (; grants <= shard_.MaxCells(); ++grants) {
    const CellId head = name->queue_head.Get();
    if (head == kNoCell) break;
    RequestCell* const request = shard_.RequestAt(head);
    if (request == nullptr) return shard_.MarkCorrupted();
    if (!IsGrantableNext(*request, *name)) break;
    if (!Grant(head, *request, *name)) return;
    highest = std::max(highest, PositionOf(*request).priority);
  }
  if (grants > 0) ReportWaitsNoMore(*name, highest);
  if (name->queue_head.Get() != kNoCell && HasNoHolder(*name)) return shard_.MarkCorrupted();
  // The new first waiter watches its old predecessor, which is right if that is the only holder.
  const HeldCounts held = CountsOf(*name);
  if (grants > 0 && held.exclusive + held.shared > 1) {
    PostIfBlockerChanged(name->queue_head.Get());
  }
  if (grants == 1) SetNextWaiter(*name);
  RemoveIfUnused(name_id, *name);
}

void ShardRules::RemoveIfUnused(CellId name_id, NameCell& name) {
  if (name.queue_head.Get() == kNoCell && name.held_head.Get() == kNoCell) {
    NameTable(shard_).Remove(name_id, name);
  }
}

void ShardRules::SetNextWaiter(const NameCell& name) {
  const RequestCell* const next = shard_.RequestAt(name.queue_head.Get());
  const RequestCell* const holder = shard_.RequestAt(name.held_head.Get());
  if (next == nullptr || holder == nullptr) return;
  wake_queue_.AddNext(next->agent.Get(), holder->agent.Get());
}

void ShardRules::End(CellId id, RequestCell& request, EndReason reason) {
  const CellState state = request.state.Get();
  if (state != CellState::kWaiting && state != CellState::kHeld)
    return EndOther(id, request, reason);
  NameCell* const name = shard_.NameAt(request.name.Get());
  if (name == nullptr) return shard_.MarkCorrupted();
  if (state == CellState::kWaiting) return EndWaiting(id, request, *name, reason);
  if (!HasCounted(*name)) Settle(*name);
  EndHeld(id, request, *name, reason);
}

// It is biased, or nothing any more.
void ShardRules::EndOther(CellId id, RequestCell& request, EndReason reason) {
  SettleNameOf(id, request);
  if (request.state.Get() == CellState::kHeld) return End(id, request, reason);
  Free(id, request);
}

void ShardRules::EndHeld(CellId id, RequestCell& request, NameCell& name, EndReason reason) {
  const CellId name_id = request.name.Get();
  if (!RemoveHeld(id, request, name)) return;
  const WatchRingWriter note(shard_, reason != EndReason::kReleased);
  Free(id, request);
  note.Write(wake_queue_.host(), EventOf(reason, LockEvent::kReleased), request, name);
  ProcessLockRequestQueue(name_id);
}

void ShardRules::EndWaiting(CellId id, RequestCell& request, NameCell& name, EndReason reason) {
  const CellId name_id = request.name.Get();
  const CellId next = request.next.Get();
  const RequestCell* const previous = shard_.RequestAt(request.previous.Get());
  const segment::Segment& segment = shard_.segment();
  const bool is_behind_own_process =
      previous != nullptr && segment.OwnerOf(*previous) == segment.OwnerOf(request);
  const Priority priority = PositionOf(request).priority;
  if (!RemoveFromQueue(id, request, name)) return;
  const WatchRingWriter note(shard_, reason != EndReason::kReleased);
  Free(id, request);
  note.Write(wake_queue_.host(), EventOf(reason, LockEvent::kAborted), request, name);
  ReportWaitsNoMore(name, priority);
  ProcessLockRequestQueue(name_id);
  // The follower still waits for this process, which it watches. The requests of a dead process
  // leave the queue one by one: a notice of each would keep the follower's thread busy.
  if (is_behind_own_process) return;
  // The follower has a new blocker now, unless it was just granted.
  const RequestCell* const follower = shard_.RequestAt(next);
  if (follower != nullptr && follower->state.Get() == CellState::kWaiting) {
    PostIfBlockerChanged(next);
  }
}

// A death before the state is stored leaves it held, and the next check expires it; after it, lost,
// and repair makes its agent rescan.
[[gnu::cold]] void ShardRules::Expire(CellId id, RequestCell& request) {
  const CellId name_id = request.name.Get();
  NameCell* const name = shard_.NameAt(name_id);
  if (name == nullptr) return shard_.MarkCorrupted();
  const WatchRingWriter note(shard_, kIncident);
  request.state.Publish(CellState::kExpired);
  note.Write(wake_queue_.host(), LockEvent::kExpired, request, *name);
  if (!RemoveHeld(id, request, *name)) return;
  PostEvent(id, request);
  ProcessLockRequestQueue(name_id);
}

// Frees the record, or leaves it as a zombie to its agent, which still has it in its event list
// (invariant I10). The zombie state is stored before the link is read again. So either the agent
// sees the zombie when it clears the link, or this sees the cleared link.
void ShardRules::Free(CellId id, RequestCell& request) {
  if (request.event_next.Get() != segment::kNotLinked) {
    request.state.Publish(CellState::kZombie);
    if (request.event_next.LoadRmw() != segment::kNotLinked) return;
  }
  const uint16_t agent = request.agent.Get();
  if (agent >= shard_.segment().geometry().agents) return shard_.MarkCorrupted();
  if (!AgentList(shard_, agent).Remove(id, request)) return;
  FreeRecord(shard_, id, request);
}

void ShardRules::PostEvent(CellId id, RequestCell& request) {
  segment::PushEvent(shard_.segment(), id, request);
  wake_queue_.Add(request.agent.Get());
}

// Makes the agent of a waiting request watch its new blocker. A blocker of the same process needs
// no watch: it dies with the waiter.
void ShardRules::PostIfBlockerChanged(CellId id) {
  RequestCell* const request = shard_.RequestAt(id);
  if (request == nullptr) return;
  const Blocker blocker = BlockerOf(shard_, *request);
  if (blocker.several || blocker.process != shard_.segment().OwnerOf(*request))
    PostEvent(id, *request);
}

// Biased locks: the record stays with the agent that used the name last (segment/biased_record.h).

// A name whose holders are not counted has one record, which is or was open (invariant I16). Closes
// it, then counts it or takes it out of the list. Afterwards the name may be unused.
void ShardRules::Settle(NameCell& name) {
  const HeldCounts held = CountsOf(name);
  const CellId id = name.held_head.Get();
  if (held.exclusive + held.shared != 0 || id == kNoCell) return;
  RequestCell* const request = shard_.RequestAt(id);
  if (request == nullptr) return shard_.MarkCorrupted();
  const CellState state = segment::Revoke(*request);
  segment::ForgetBiased(shard_.header(), id);
  if (state == CellState::kHeld) {
    return CountOf(name, ModeOf(*request)).Set(1);
  }
  if (state != CellState::kRevoked) return shard_.MarkCorrupted();
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

bool ShardRules::MayBeBiased(const RequestCell& request, const NameCell& name) const {
  const HeldCounts held = CountsOf(name);
  const QueuePosition position = PositionOf(request);
  return (shard_.header().watched.Get() & 1) == 0 && held.exclusive + held.shared == 1 &&
         name.queue_head.Get() == kNoCell && request.event_next.Get() == segment::kNotLinked &&
         request.label.Get() == kNoCell && request.call_site.Get() == kNoCell &&
         request.limit.Get() == 0 && request.hold_limit_ns.Get() == 0 &&
         request.enclosing_token.Get() == 0 && position.priority == Priority::kUserVisible &&
         position.overtakes == 0 && request.contention.Get() == Contention::kUnwatched;
}

// A death before the state is stored leaves a held lock of the dead. A death after it leaves a
// biased record of the dead, which any thread may revoke. In both cases the shard is repaired.
bool ShardRules::EndOrBias(CellId id, RequestCell& request) {
  SettleNameOf(id, request);
  NameCell* const name = shard_.NameAt(request.name.Get());
  const bool is_candidate =
      request.state.Get() == CellState::kHeld && name != nullptr && MayBeBiased(request, *name);
  if (!is_candidate || !segment::NoteBiased(shard_.header(), id)) {
    End(id, request);
    return false;
  }
  name->held_exclusive.Set(0);
  name->held_shared.Set(0);
  request.state.Exchange(segment::BiasedFreeState(request.ticket.Get()));
  // Not before: an agent that puts an operation into the publication list, or begins to watch,
  // revokes the biased records after that. Either it finds this one, or this thread sees it here.
  const bool is_alone =
      !segment::HasOperations(shard_.header()) && (shard_.header().watched.LoadSeqCst() & 1) == 0;
  if (is_alone) return true;
  // As if it had not been biased, so that a watcher finds the event.
  request.state.Publish(CellState::kHeld);
  End(id, request);
  return false;
}

}  // namespace holdfast::core
