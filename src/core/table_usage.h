// How full a bucket is. For display only: it is read without locks.
#ifndef HOLDFAST_CORE_TABLE_USAGE_H_
#define HOLDFAST_CORE_TABLE_USAGE_H_

#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

struct TableUsage {
  uint64_t capacity = 0;  // bytes
  uint32_t used_cells = 0;
  uint32_t max_cells = 0;
  uint32_t processes = 0;  // alive
  uint32_t max_processes = 0;
  uint32_t agents = 0;  // also agents of dead processes, until they are reaped
  uint32_t max_agents = 0;
};

TableUsage ReadTableUsage(const segment::Segment& segment, segment::Host& host);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_TABLE_USAGE_H_
