#include "segment/geometry.h"

#include <algorithm>
#include <bit>

#include "segment/layout.h"

namespace holdfast::segment {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kShards = 64;
constexpr uint32_t kMinExtentBytes = 4096;
constexpr uint32_t kMaxExtentBytes = 65536;
constexpr uint64_t kCapacityPerAgent = 16384;
constexpr uint32_t kMinAgents = 64;
constexpr uint32_t kAgentsPerProcess = 4;
constexpr uint32_t kMinProcesses = 64;
// A name needs a name cell and a request cell, so there are at most half as many names as cells.
// With this value the mean chain is no longer than two names even in a full segment.
constexpr uint64_t kCellsPerBucket = 4;
// With its names the watch ring is a 25th of the file.
constexpr uint64_t kCapacityPerSlot = 4096;
constexpr uint32_t kMinSlots = 256;
constexpr uint32_t kMaxSlots = 65536;
constexpr uint32_t kWordsPerSlot = 4;

constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Fills in the offsets that follow from the counts.
void SetOffsets(Geometry& g) {
  g.cells_per_extent = g.extent_bytes / kCellBytes;
  g.shards_at = sizeof(SegmentHeader);
  g.processes_at = g.shards_at + uint64_t{g.shards} * sizeof(ShardHeader);
  g.agents_at = g.processes_at + uint64_t{g.processes} * sizeof(ProcessEntry);
  g.agent_lists_at = AlignUp(g.agents_at + uint64_t{g.agents} * sizeof(AgentEntry), kCellBytes);
  g.extent_owners_at = g.agent_lists_at + uint64_t{g.agents} * g.shards * sizeof(CellId);
  g.buckets_at = AlignUp(g.extent_owners_at + uint64_t{g.extents} * sizeof(uint32_t), kCellBytes);
  const uint64_t buckets = uint64_t{g.shards} * g.buckets_per_shard * sizeof(CellId);
  g.watch_ring_at = AlignUp(g.buckets_at + buckets, kPage);
  g.watch_ring_words_at = g.watch_ring_at + uint64_t{g.watch_ring_slots} * sizeof(WatchRingSlot);
  g.extents_at =
      AlignUp(g.watch_ring_words_at + uint64_t{g.watch_ring_words} * sizeof(uint64_t), kPage);
}

}  // namespace

bool IsValidCapacity(uint64_t capacity) {
  return capacity >= kMinCapacity && capacity <= kMaxCapacity && capacity % kPage == 0;
}

Geometry Geometry::ForCapacity(uint64_t capacity) {
  Geometry g;
  g.capacity = capacity;
  g.shards = kShards;
  const uint64_t extent = std::bit_floor(capacity / 1024);
  g.extent_bytes =
      static_cast<uint32_t>(std::clamp<uint64_t>(extent, kMinExtentBytes, kMaxExtentBytes));
  g.agents = static_cast<uint32_t>(
      std::clamp<uint64_t>(capacity / kCapacityPerAgent, kMinAgents, kMaxAgents));
  g.processes = std::max(g.agents / kAgentsPerProcess, kMinProcesses);
  const uint64_t buckets = capacity / kCellBytes / kCellsPerBucket / kShards;
  g.buckets_per_shard = static_cast<uint32_t>(std::bit_ceil(buckets));
  const uint64_t slots = std::bit_floor(capacity / kCapacityPerSlot);
  g.watch_ring_slots = static_cast<uint32_t>(std::clamp<uint64_t>(slots, kMinSlots, kMaxSlots));
  g.watch_ring_words = g.watch_ring_slots * kWordsPerSlot;
  // The directory is sized for the whole file; the extents are what then remains.
  g.extents = static_cast<uint32_t>(capacity / g.extent_bytes);
  SetOffsets(g);
  g.extents = static_cast<uint32_t>((capacity - g.extents_at) / g.extent_bytes);
  return g;
}

Geometry Geometry::ForCounts(const Counts& counts) {
  Geometry g;
  g.shards = counts.shards;
  g.processes = counts.processes;
  g.agents = counts.agents;
  g.buckets_per_shard = counts.buckets_per_shard;
  g.extent_bytes = counts.extent_bytes;
  g.extents = counts.extents;
  g.watch_ring_slots = counts.watch_ring_slots;
  g.watch_ring_words = counts.watch_ring_words;
  SetOffsets(g);
  g.capacity = g.extents_at + uint64_t{g.extents} * g.extent_bytes;
  return g;
}

}  // namespace holdfast::segment
