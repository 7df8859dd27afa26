// Events for an agent: a lock-free stack of its changed records. Peers push a record inside its
// shard lock; only the agent takes the stack, without any lock.
//
// A record is in the list at most once (`event_next` is kNotLinked outside). No push is lost: the
// pusher stores the new state, then reads `event_next`; the agent clears `event_next`, then reads
// the state. Of the two accesses to `event_next`, the second one sees the other. A pusher that dies
// between its stores leaves a record that is marked but in no list. Its reaper sets `rescan` in
// every agent. The agent then reads all its records, and clears the mark inside the shard lock,
// where no pusher is.
#ifndef HOLDFAST_SEGMENT_EVENT_LIST_H_
#define HOLDFAST_SEGMENT_EVENT_LIST_H_

#include "segment/segment.h"

namespace holdfast::segment {

// REQUIRES: inside the shard lock, after the state was stored.
void PushEvent(Segment& segment, CellId id, RequestCell& request);

// Takes all events of an agent at once, and reads them one by one.
class EventReader {
 public:
  // Takes the whole list of the agent.
  EventReader(Segment& segment, uint32_t agent);

  // The next record, newest first; null at the end. Its state may be read from now on. A record of
  // another agent (corruption) is skipped, and that agent is made to rescan.
  RequestCell* Next(CellId& id);

 private:
  Segment& segment_;
  uint32_t agent_;
  CellId next_;
  uint32_t steps_ = 0;
};

// Whether there is anything to take. Ordered after the agent's store of `sleeping`.
inline bool HasEvents(const AgentEntry& agent) {
  return agent.event_head.LoadSeqCst() != kNoCell || agent.rescan.LoadSeqCst() != 0 ||
         agent.answered.LoadSeqCst() != 0;
}

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_EVENT_LIST_H_
