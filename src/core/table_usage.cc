#include "core/table_usage.h"

#include <algorithm>

namespace holdfast::core {

using segment::Geometry;
using segment::ProcessRef;

TableUsage ReadTableUsage(const segment::Segment& segment, segment::Host& host) {
  const Geometry& g = segment.geometry();
  TableUsage usage;
  usage.capacity = g.capacity;
  usage.max_cells = g.cells();
  usage.max_processes = g.processes;
  usage.max_agents = g.agents;
  uint64_t used = 0;
  for (uint32_t i = 0; i < g.shards; ++i) used += segment.shard(i).used_count.Get();
  usage.used_cells = static_cast<uint32_t>(std::min<uint64_t>(used, usage.max_cells));
  for (uint32_t slot = 0; slot < g.processes; ++slot) {
    const segment::ProcessEntry& entry = segment.process(slot);
    const uint32_t generation = entry.generation.Acquire();
    if (generation == entry.cleaned_generation.Acquire()) continue;
    const ProcessRef process{static_cast<uint16_t>(slot), generation};
    if (host.IsAlive(process)) ++usage.processes;
  }
  for (uint32_t i = 0; i < g.agents; ++i) {
    if (segment.AgentAt(i).process.generation != 0) ++usage.agents;
  }
  return usage;
}

}  // namespace holdfast::core
