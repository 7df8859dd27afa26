#include "core/record_event.h"

#include <algorithm>

#include "segment/event_list.h"

namespace holdfast::core {

RecordEvent ReadEvent(segment::Segment& segment, segment::CellId id,
                      const segment::RequestCell& request) {
  RecordEvent event;
  event.state = request.state.Acquire();
  event.record = {id, segment.ShardOfCell(id), request.ticket.Get()};
  event.request_id = request.request_id.Get();
  event.token = request.token.Get();
  return event;
}

void TakeEvents(segment::Segment& segment, uint32_t agent, std::vector<RecordEvent>& events) {
  const auto first = static_cast<std::ptrdiff_t>(events.size());
  segment::EventReader reader(segment, agent);
  segment::CellId id = segment::kNoCell;
  while (const segment::RequestCell* request = reader.Next(id)) {
    events.push_back(ReadEvent(segment, id, *request));
  }
  std::reverse(events.begin() + first, events.end());
}

}  // namespace holdfast::core
