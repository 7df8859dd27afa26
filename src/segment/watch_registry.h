// The readers of the watch ring, so that it is written only while there is one (invariant I12).
//
// The source of truth is `watching` in the agent entries, which ends with its agent. The fast path
// reads `watched` of its shard, in the cache line of the shard's lock. A watcher raises it when it
// begins, and the last watcher raises it again when it ends. It only rises, so that an end cannot
// undo a concurrent beginning: a beginning stores `watching`, then raises `watched`; an end reads
// `watched`, then every `watching`, and raises only the value that it has read. Either the end sees
// the new watcher, or its compare-and-swap fails.
//
// A watcher that has read everything sleeps until it is rung. It arms: it stores itself in
// `watch_armed` of the header, one word for all, then reads once more. A writer fills its slot,
// then reads that word by a read-modify-write. One of the two accesses to the word comes first:
// either the writer finds the watcher there, or the watcher's next read finds the event. Outside of
// the shard, the writer that takes the word rings; other writers need not. If a writer dies in
// between, its reaper rings every agent.
//
// A reader that is not among the watchers still finds incidents (watch_ring.h): those are written
// where `watched` is not zero, so in every table that was ever watched.
#ifndef HOLDFAST_SEGMENT_WATCH_REGISTRY_H_
#define HOLDFAST_SEGMENT_WATCH_REGISTRY_H_

#include "segment/segment.h"

namespace holdfast::segment {

class WatchRegistry {
 public:
  explicit WatchRegistry(Segment& segment) : segment_(segment) {}

  // Events after the return of this call are in the watch ring. After a death inside, the reaper
  // cleans up.
  void Add(const AgentRef& agent);
  // Also for an agent that does not watch, or has ended: a death inside leaves shards that count as
  // watched without a watcher, which the next Remove() corrects.
  void Remove(const AgentRef& agent);

  // The next event rings this agent, once.
  void Arm(const AgentRef& agent);
  // Whether that ring is still to come.
  bool IsArmed(const AgentRef& agent) const;
  // The agent to ring after an event was written: 0 for none, 1 + the index of the agent, or
  // kAllArmed. Only one caller gets it.
  uint32_t TakeArmed();

 private:
  bool IsAnybodyThere() const;

  Segment& segment_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_WATCH_REGISTRY_H_
