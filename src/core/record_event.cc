#include "core/record_event.h"

#include <algorithm>

#include "segment/event_list.h"

namespace holdfast::core {

// The record may end during the reads. A combiner of the shard may execute an end that this agent
// has published, and reuse the cell for the next request. So the state of one record and the ticket
// of another may be read. A new ticket is stored after the old record was freed and before the new
// record gets its state. So all values read between two equal tickets belong to one record.
RecordEvent ReadEvent(segment::Segment& segment, segment::CellId id,
                      const segment::RequestCell& request) {
  RecordEvent event;
  uint64_t ticket = request.ticket.Acquire();
  do {
    event.record = {id, segment.ShardOfCell(id), ticket};
    event.state = request.state.Acquire();
    event.request_id = request.request_id.Acquire();  // all before the ticket is read again
    event.token = request.token.Acquire();
    ticket = request.ticket.Acquire();
  } while (ticket != event.record.ticket);
  return event;
}

void TakeEvents(segment::Segment& segment, uint32_t agent, std::vector<RecordEvent>& events) {
  // A plain load before the exchange, which fetches the agent's line for writing. Events after this
  // load are taken the next time: before an agent sleeps, it checks again (GoToSleep).
  if (segment.agent(agent).event_head.LoadSeqCst() == segment::kNoCell) return;
  const auto first = static_cast<std::ptrdiff_t>(events.size());
  segment::EventReader reader(segment, agent);
  segment::CellId id = segment::kNoCell;
  while (const segment::RequestCell* request = reader.Next(id)) {
    events.push_back(ReadEvent(segment, id, *request));
  }
  std::reverse(events.begin() + first, events.end());
}

}  // namespace holdfast::core
