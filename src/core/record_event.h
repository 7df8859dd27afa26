// An event of one of an agent's records.
#ifndef HOLDFAST_CORE_RECORD_EVENT_H_
#define HOLDFAST_CORE_RECORD_EVENT_H_

#include <cstdint>
#include <vector>

#include "core/request_params.h"
#include "segment/segment.h"

namespace holdfast::core {

struct RecordEvent {
  RecordRef record;
  uint32_t request_id = 0;
  segment::CellState state = segment::CellState::kFree;
  uint64_t token = 0;
  bool may_be_blocked_by_others = true;  // while it waits: its blocker may have changed
};

RecordEvent ReadEvent(segment::Segment& segment, segment::CellId id,
                      const segment::RequestCell& request);

// Takes all events of an agent, oldest first, and appends them.
void TakeEvents(segment::Segment& segment, uint32_t agent, std::vector<RecordEvent>& events);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_RECORD_EVENT_H_
