// The offsets in a segment of a given capacity: constants of this process, computed once from the
// size of the file. Sizes and offsets stored in the segment are never used.
#ifndef HOLDFAST_SEGMENT_GEOMETRY_H_
#define HOLDFAST_SEGMENT_GEOMETRY_H_

#include <cstdint>

namespace holdfast::segment {

inline constexpr uint64_t kMinCapacity = uint64_t{1} << 20;
inline constexpr uint64_t kMaxCapacity = uint64_t{1} << 34;
inline constexpr uint32_t kMaxAgents = 4096;
inline constexpr uint64_t kDefaultCapacity = uint64_t{64} << 20;

struct Geometry {
  uint64_t capacity = 0;
  uint32_t shards = 0;
  uint32_t processes = 0;
  uint32_t agents = 0;
  uint32_t buckets_per_shard = 0;  // a power of two
  uint32_t extent_bytes = 0;
  uint32_t cells_per_extent = 0;
  uint32_t extents = 0;
  uint32_t watch_ring_slots = 0;  // a power of two
  uint32_t watch_ring_words = 0;  // likewise

  uint64_t shards_at = 0;
  uint64_t processes_at = 0;
  uint64_t agents_at = 0;
  uint64_t agent_lists_at = 0;  // [agent][shard]: first request of that agent in that shard
  uint64_t extent_owners_at = 0;
  uint64_t buckets_at = 0;
  uint64_t watch_ring_at = 0;  // also the size of the fixed part
  uint64_t watch_ring_words_at = 0;
  uint64_t extents_at = 0;

  // The layout of a file of `capacity` bytes (kMinCapacity .. kMaxCapacity).
  static Geometry ForCapacity(uint64_t capacity);

  // A small geometry for tests: few shards and cells, so that limits are reached soon.
  struct Counts {
    uint32_t shards = 0, processes = 0, agents = 0;
    uint32_t buckets_per_shard = 0, extent_bytes = 0, extents = 0;
    uint32_t watch_ring_slots = 8, watch_ring_words = 64;
  };
  static Geometry ForCounts(const Counts& counts);

  uint32_t cells() const { return extents * cells_per_extent; }
  // The watch ring's part of a longer name: four names of this length fit beside each other.
  uint32_t MaxWatchRingUnits() const { return watch_ring_words; }
};

// Whether a file of `capacity` bytes can be a segment.
bool IsValidCapacity(uint64_t capacity);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_GEOMETRY_H_
