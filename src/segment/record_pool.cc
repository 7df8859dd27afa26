#include "segment/record_pool.h"

namespace holdfast::segment {

void RecordPool::Prepare(Segment& segment, uint32_t extent) {
  const CellId first = segment.FirstCell(extent);
  const uint32_t count = segment.geometry().cells_per_extent;
  for (uint32_t i = 0; i < count; ++i) {
    AnyCell* const cell = segment.CellInExtent(extent, i);
    cell->state.Set(CellState::kFree);
    cell->next.Set(i + 1 < count ? first + i + 1 : kNoCell);
  }
}

void RecordPool::AddExtent(uint32_t extent, uint32_t claim) {
  Segment& segment = shard_.segment();
  ShardHeader& header = shard_.header();
  const uint32_t count = segment.geometry().cells_per_extent;
  // A death before this store leaves the extent claimed by a dead process; after it, the cells
  // belong to the shard, and Repair links them.
  if (!segment.extent_owner(extent).CompareExchange(claim, shard_.index() + 1)) return;
  segment.CellInExtent(extent, count - 1)->next.Set(header.free_head.Get());
  header.free_head.Set(segment.FirstCell(extent));
  header.free_count.Set(header.free_count.Get() + count);
}

void RecordPool::LinkFree() {
  Segment& segment = shard_.segment();
  ShardHeader& header = shard_.header();
  CellId head = kNoCell;
  uint32_t count = 0;
  for (uint32_t extent = segment.geometry().extents; extent-- > 0;) {
    if (!segment.IsExtentOf(shard_.index(), extent)) continue;
    for (uint32_t i = segment.geometry().cells_per_extent; i-- > 0;) {
      AnyCell& cell = *segment.CellInExtent(extent, i);
      if (cell.state.Get() != CellState::kFree) continue;
      cell.next.Set(head);
      head = segment.FirstCell(extent) + i;
      ++count;
    }
  }
  header.free_head.Set(head);
  header.free_count.Set(count);
}

}  // namespace holdfast::segment
