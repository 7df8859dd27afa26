// The lists that contain a request. One is the queue or the held list of its name (linked by
// `next`). The other has the requests of its agent in this shard (linked by `agent_next`). Inside
// the shard lock.
//
// A step first checks every cell that it will write. False: the links are corrupted, nothing was
// written, and the shard is marked for repair.
#ifndef HOLDFAST_SEGMENT_REQUEST_LIST_H_
#define HOLDFAST_SEGMENT_REQUEST_LIST_H_

#include "segment/layout.h"
#include "segment/shard_view.h"

namespace holdfast::segment {

// A list of a name: its queue, or its held locks.
class RequestList {
 public:
  static RequestList Queue(ShardView shard, NameCell& name) {
    return {shard, name.queue_head, name.queue_tail};
  }
  static RequestList Held(ShardView shard, NameCell& name) {
    return {shard, name.held_head, name.held_tail};
  }

  CellId First() const { return head_.Get(); }
  CellId Last() const { return tail_.Get(); }
  bool IsEmpty() const { return head_.Get() == kNoCell; }
  bool Append(CellId id, RequestCell& request);
  // Behind `previous_id`; kNoCell: it becomes the first.
  bool InsertBehind(CellId previous_id, CellId id, RequestCell& request);
  bool Remove(CellId id, RequestCell& request);

 private:
  RequestList(ShardView shard, Shared<CellId>& head, Shared<CellId>& tail)
      : shard_(shard), head_(head), tail_(tail) {}

  ShardView shard_;
  Shared<CellId>& head_;
  Shared<CellId>& tail_;
};

// The requests of one agent in one shard, newest first.
class AgentList {
 public:
  AgentList(ShardView shard, uint32_t agent)
      : shard_(shard), head_(shard.segment().agent_list(agent, shard.index())) {}

  CellId First() const { return head_.Get(); }
  bool Add(CellId id, RequestCell& request);
  bool Remove(CellId id, RequestCell& request);

 private:
  ShardView shard_;
  Shared<CellId>& head_;
};

// Counts the requests of a name with a hold limit, so that a waiter can decide whether it must
// check limits. Inside the shard lock.

// The request entered the queue or the held list of the name.
inline void CountHoldLimit(NameCell& name, const RequestCell& request) {
  const uint64_t limit = request.hold_limit_ns.Get();
  if (limit == 0) return;
  const uint32_t count = name.hold_limited.Get();
  if (count == 0 || limit < name.least_hold_limit_ns.Get()) name.least_hold_limit_ns.Set(limit);
  name.hold_limited.Set(count + 1);
}

// The request has left both; false: it was never counted.
inline bool UncountHoldLimit(NameCell& name, const RequestCell& request) {
  if (request.hold_limit_ns.Get() == 0) return true;
  const uint32_t count = name.hold_limited.Get();
  if (count == 0) return false;
  name.hold_limited.Set(count - 1);
  return true;
}

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_REQUEST_LIST_H_
