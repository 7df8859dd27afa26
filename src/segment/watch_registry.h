// Who reads the watch ring, so that nobody writes it for nobody (invariant I12).
//
// The truth is `watching` in the agent entries, which ends with its bearer. What the fast path
// looks at is `watched` of its shard, in the cache line of the shard's lock: raised by who begins,
// and by who ends when nobody is left. It only rises, so that whoever ends cannot take away what
// somebody else has begun meanwhile: a beginning stores `watching`, then raises `watched`; an end
// reads `watched`, then every `watching`, and raises only what it has read. Of the two, either the
// end sees the beginner, or its compare-and-swap fails.
//
// A watcher that has read everything sleeps until it is rung. It arms: puts itself into
// `watch_armed` of the header, one word for all, then reads once more. A writer fills its slot,
// then reads that word by a read-modify-write. Of the two accesses to the word one comes first:
// either the writer finds the watcher there, or the watcher's next read finds the event. Outside of
// the shard, whoever finds somebody there takes the word away and rings; the others need not. Who
// dies between the two is cleaned up after, and everybody is rung then.
#ifndef HOLDFAST_SEGMENT_WATCH_REGISTRY_H_
#define HOLDFAST_SEGMENT_WATCH_REGISTRY_H_

#include "segment/segment.h"

namespace holdfast::segment {

class WatchRegistry {
 public:
  explicit WatchRegistry(const Segment& segment) : segment_(segment) {}

  // What happens after this returns is in the watch ring. Dead inside: its end is cleaned up after.
  void Add(const AgentRef& agent);
  // Also for who does not watch, and for who is gone: whoever died inside leaves shards watched by
  // nobody, which the next end puts right.
  void Remove(const AgentRef& agent);

  // The next event rings this agent, once.
  void Arm(const AgentRef& agent);
  // Whether that is still to come.
  bool IsArmed(const AgentRef& agent) const;
  // Whom an event that was written has to ring: 0, one more than the index of an agent, or
  // kAllArmed. Nobody else gets this answer.
  uint32_t TakeArmed();

 private:
  bool IsAnybodyThere() const;

  const Segment& segment_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_WATCH_REGISTRY_H_
