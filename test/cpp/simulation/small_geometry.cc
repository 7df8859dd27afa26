// Segments of a simulation are small: every corner is met soon, and looking at all of one is cheap.
//
// The linker takes these in place of segment/geometry.cc.
#include "segment/geometry.h"
#include "segment/layout.h"
#include "simulation/kernel.h"

namespace holdfast {
namespace segment {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

bool IsValidCapacity(uint64_t capacity) { return capacity == test::SimulatedCapacity(); }

Geometry Geometry::ForCapacity(uint64_t) {
  return ForCounts({.shards = 2,
                    .processes = 6,
                    .agents = 8,
                    .buckets_per_shard = 2,
                    .extent_bytes = 1024,
                    .extents = 16,
                    .watch_ring_slots = 16,
                    .watch_ring_words = 256});
}

Geometry Geometry::ForCounts(const Counts& counts) {
  Geometry g;
  g.shards = counts.shards;
  g.processes = counts.processes;
  g.agents = counts.agents;
  g.buckets_per_shard = counts.buckets_per_shard;
  g.extent_bytes = counts.extent_bytes;
  g.extents = counts.extents;
  g.cells_per_extent = g.extent_bytes / kCellBytes;
  const auto aligned = [](uint64_t value) {
    return (value + kCellBytes - 1) & -uint64_t{kCellBytes};
  };
  g.shards_at = sizeof(SegmentHeader);
  g.processes_at = g.shards_at + g.shards * sizeof(ShardHeader);
  g.agents_at = g.processes_at + g.processes * sizeof(ProcessEntry);
  g.agent_lists_at = aligned(g.agents_at + g.agents * sizeof(AgentEntry));
  g.extent_owners_at = g.agent_lists_at + uint64_t{g.agents} * g.shards * sizeof(CellId);
  g.buckets_at = aligned(g.extent_owners_at + g.extents * sizeof(uint32_t));
  const uint64_t buckets = uint64_t{g.shards} * g.buckets_per_shard * sizeof(CellId);
  g.watch_ring_slots = counts.watch_ring_slots;
  g.watch_ring_words = counts.watch_ring_words;
  g.watch_ring_at = (g.buckets_at + buckets + kPage - 1) / kPage * kPage;
  g.watch_ring_words_at = g.watch_ring_at + g.watch_ring_slots * sizeof(WatchRingSlot);
  const uint64_t watch_ring_end = g.watch_ring_words_at + g.watch_ring_words * sizeof(uint64_t);
  g.extents_at = (watch_ring_end + kPage - 1) / kPage * kPage;
  g.capacity = g.extents_at + uint64_t{g.extents} * g.extent_bytes;
  return g;
}

}  // namespace segment

namespace test {

uint64_t SimulatedCapacity() { return segment::Geometry::ForCapacity(0).capacity; }

}  // namespace test
}  // namespace holdfast
