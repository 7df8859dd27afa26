#include "core/record_event.h"

#include <algorithm>

#include "segment/event_list.h"

namespace holdfast::core {

// Nobody keeps the record from being ended: whoever empties the intake of the shard may execute an
// end that this agent has put in, and give the cell to the next request. So the state of the one
// and the ticket of the other may be read. A new ticket is stored after the old record was freed
// and before the new one gets its state: what was read between two equal tickets is of one record.
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
  // A plain look before the exchange, which fetches the agent's line for writing. What comes after
  // it is taken the next time: before an agent sleeps, it looks again (GoToSleep).
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
