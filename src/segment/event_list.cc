#include "segment/event_list.h"

namespace holdfast::segment {

void PushEvent(Segment& segment, CellId id, RequestCell& request) {
  const uint16_t index = request.agent.Get();
  if (index >= segment.geometry().agents) return;
  if (request.event_next.LoadRmw() != kNotLinked) return;
  AgentEntry& agent = segment.agent(index);
  CellId head = agent.event_head.Get();
  do {
    request.event_next.Set(head == kNoCell ? kEventEnd : head);
  } while (!agent.event_head.CompareExchange(head, id));
}

EventReader::EventReader(Segment& segment, uint32_t agent)
    : segment_(segment), agent_(agent), next_(segment.agent(agent).event_head.Exchange(kNoCell)) {}

RequestCell* EventReader::Next(CellId& id) {
  while (next_ != kNoCell && next_ != kEventEnd && steps_++ <= segment_.geometry().cells()) {
    const CellId current = next_;
    const uint32_t shard = segment_.ShardOfCell(current);
    AnyCell* const cell = segment_.CellAt(shard, current);
    if (shard >= segment_.geometry().shards || cell == nullptr) break;
    RequestCell& request = AsRequest(*cell);
    const uint16_t owner = request.agent.Get();
    if (!IsRequestState(cell->state.Acquire()) || owner != agent_) {
      // The list leads into a foreign record. A rescan finds the missed events.
      if (owner < segment_.geometry().agents) segment_.agent(owner).rescan.Exchange(1);
      break;
    }
    next_ = request.event_next.Get();
    request.event_next.Exchange(kNotLinked);
    id = current;
    return &request;
  }
  const bool is_complete = next_ == kNoCell || next_ == kEventEnd;
  next_ = kNoCell;
  if (!is_complete) segment_.agent(agent_).rescan.Exchange(1);
  return nullptr;
}

}  // namespace holdfast::segment
