#include "segment/request_list.h"

namespace holdfast::segment {
namespace {

bool Corrupted(const ShardView& shard) {
  shard.MarkCorrupted();
  return false;
}

}  // namespace

bool RequestList::Append(CellId id, RequestCell& request) {
  const CellId last_id = tail_.Get();
  RequestCell* const last = shard_.RequestAt(last_id);
  const bool is_believable =
      last_id == kNoCell ? head_.Get() == kNoCell : last != nullptr && last->next.Get() == kNoCell;
  if (!is_believable) return Corrupted(shard_);
  request.next.Set(kNoCell);
  request.previous.Set(last_id);
  (last != nullptr ? last->next : head_).Set(id);
  tail_.Set(id);
  return true;
}

bool RequestList::InsertBehind(CellId previous_id, CellId id, RequestCell& request) {
  RequestCell* const previous = shard_.RequestAt(previous_id);
  if (previous_id != kNoCell && previous == nullptr) return Corrupted(shard_);
  const CellId next_id = previous == nullptr ? head_.Get() : previous->next.Get();
  if (next_id == kNoCell) return Append(id, request);
  RequestCell* const next = shard_.RequestAt(next_id);
  if (next == nullptr || next->previous.Get() != previous_id) return Corrupted(shard_);
  request.next.Set(next_id);
  request.previous.Set(previous_id);
  next->previous.Set(id);
  (previous != nullptr ? previous->next : head_).Set(id);
  return true;
}

bool RequestList::Remove(CellId id, RequestCell& request) {
  const CellId next_id = request.next.Get();
  const CellId previous_id = request.previous.Get();
  RequestCell* const next = shard_.RequestAt(next_id);
  RequestCell* const previous = shard_.RequestAt(previous_id);
  const bool next_fits =
      next_id == kNoCell ? tail_.Get() == id : next != nullptr && next->previous.Get() == id;
  const bool previous_fits = previous_id == kNoCell
                                 ? head_.Get() == id
                                 : previous != nullptr && previous->next.Get() == id;
  if (!next_fits || !previous_fits) return Corrupted(shard_);
  (previous != nullptr ? previous->next : head_).Set(next_id);
  (next != nullptr ? next->previous : tail_).Set(previous_id);
  return true;
}

bool AgentList::Add(CellId id, RequestCell& request) {
  const CellId first_id = head_.Get();
  RequestCell* const first = shard_.RequestAt(first_id);
  if (first_id != kNoCell && first == nullptr) return Corrupted(shard_);
  request.agent_next.Set(first_id);
  request.agent_previous.Set(kNoCell);
  if (first != nullptr) first->agent_previous.Set(id);
  head_.Set(id);
  return true;
}

bool AgentList::Remove(CellId id, RequestCell& request) {
  const CellId next_id = request.agent_next.Get();
  const CellId previous_id = request.agent_previous.Get();
  RequestCell* const next = shard_.RequestAt(next_id);
  RequestCell* const previous = shard_.RequestAt(previous_id);
  const bool next_fits =
      next_id == kNoCell || (next != nullptr && next->agent_previous.Get() == id);
  const bool previous_fits = previous_id == kNoCell
                                 ? head_.Get() == id
                                 : previous != nullptr && previous->agent_next.Get() == id;
  if (!next_fits || !previous_fits) return Corrupted(shard_);
  (previous != nullptr ? previous->agent_next : head_).Set(next_id);
  if (next != nullptr) next->agent_previous.Set(previous_id);
  return true;
}

}  // namespace holdfast::segment
