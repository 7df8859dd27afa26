#include "core/extent_reclaim.h"

#include "segment/kept_record.h"
#include "segment/record_pool.h"

namespace holdfast::core {

using segment::CellState;
using segment::Segment;
using segment::ShardLock;

namespace {

bool IsWhollyFree(const Segment& segment, uint32_t extent) {
  for (uint32_t i = 0; i < segment.geometry().cells_per_extent; ++i) {
    if (segment.CellInExtent(extent, i)->state.Get() != CellState::kFree) return false;
  }
  return true;
}

// Inside the shard lock. The free list runs through these cells, so the shard is marked for repair
// until the list has the others alone: after a death here no process uses it.
uint32_t GiveUpExtents(LockManager& manager, uint32_t shard) {
  Segment& segment = manager.segment();
  segment::ShardHeader& header = segment.shard(shard);
  uint32_t given = 0;
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    if (!segment.IsExtentOf(shard, extent) || !IsWhollyFree(segment, extent)) continue;
    // Checked once: an agent that comes later finds no record of these extents.
    if (given == 0 && segment::MayCloseKept(segment, manager.host(), shard)) break;
    header.dirty.Set(1);
    segment.extent_owner(extent).Publish(0);
    ++given;
  }
  if (given == 0) return 0;
  segment::RecordPool(segment::ShardView(segment, shard)).LinkFree();
  header.dirty.Set(0);
  return given;
}

}  // namespace

uint32_t ReclaimExtents(LockManager& manager, uint64_t timeout_ns) {
  Segment& segment = manager.segment();
  uint32_t reclaimed = 0;
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    if (segment.shard(shard).free_count.Get() < segment.geometry().cells_per_extent) continue;
    WakeQueue wake_queue(segment, manager.host());
    const Result<ShardLock> lock = manager.Enter(shard, wake_queue, timeout_ns);
    if (!lock.ok()) break;
    reclaimed += GiveUpExtents(manager, shard);
  }
  return reclaimed;
}

}  // namespace holdfast::core
