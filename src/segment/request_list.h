// The lists that contain a request: the queue or the held list of its name (linked by `next`), and
// the requests of its agent in this shard (linked by `agent_next`). Inside the shard lock.
//
// A step first checks every cell that it will write. False: the links are corrupted, nothing was
// written, and the shard is marked for repair.
#ifndef HOLDFAST_SEGMENT_REQUEST_LIST_H_
#define HOLDFAST_SEGMENT_REQUEST_LIST_H_

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

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_REQUEST_LIST_H_
