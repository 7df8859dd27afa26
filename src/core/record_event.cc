#include "core/record_event.h"

#include <algorithm>

#include "segment/event_list.h"

namespace holdfast::core {

RecordEvent ReadEvents(const segment::Segment& segment, segment::CellId id,
                       const segment::RequestCell& request) {
  RecordEvent events;
  events.state = request.state.Acquire();
  events.record = {id, segment.ShardOfCell(id), request.ticket.Get()};
  events.request_id = request.request_id.Get();
  events.token = request.token.Get();
  return events;
}

void TakeEvents(const segment::Segment& segment, uint32_t agent, std::vector<RecordEvent>& events) {
  const auto first = static_cast<std::ptrdiff_t>(events.size());
  segment::EventReader events(segment, agent);
  segment::CellId id = segment::kNoCell;
  while (const segment::RequestCell* request = events.Next(id)) {
    events.push_back(ReadEvents(segment, id, *request));
  }
  std::reverse(events.begin() + first, events.end());
}

}  // namespace holdfast::core
