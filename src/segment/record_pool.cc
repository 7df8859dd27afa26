#include "segment/record_pool.h"

namespace holdfast::segment {

CellId RecordPool::Take() {
  ShardHeader& header = shard_.header();
  const CellId id = header.free_head.Get();
  AnyCell* const cell = shard_.CellAt(id);
  if (cell == nullptr || cell->state.Get() != CellState::kFree) {
    shard_.MarkDamaged();
    return kNoCell;
  }
  header.free_head.Set(cell->next.Get());
  header.free_count.Set(header.free_count.Get() - 1);
  header.used_count.Set(header.used_count.Get() + 1);
  return id;
}

void RecordPool::Give(CellId id, AnyCell& cell) {
  // Dead before this store: the record exists. After it: a free cell that is in no list, which
  // Repair puts back.
  cell.state.Publish(CellState::kFree);
  ShardHeader& header = shard_.header();
  cell.next.Set(header.free_head.Get());
  header.free_head.Set(id);
  header.free_count.Set(header.free_count.Get() + 1);
  header.used_count.Set(header.used_count.Get() - 1);
}

void RecordPool::Prepare(const Segment& segment, uint32_t extent) {
  const CellId first = segment.FirstCell(extent);
  const uint32_t count = segment.geometry().cells_per_extent;
  for (uint32_t i = 0; i < count; ++i) {
    AnyCell* const cell = segment.CellInExtent(extent, i);
    cell->state.Set(CellState::kFree);
    cell->next.Set(i + 1 < count ? first + i + 1 : kNoCell);
  }
}

void RecordPool::AddExtent(uint32_t extent, uint32_t claim) {
  const Segment& segment = shard_.segment();
  ShardHeader& header = shard_.header();
  const uint32_t count = segment.geometry().cells_per_extent;
  // Dead before this store: the extent is still claimed by a dead process. After it: its cells are
  // the shard's, and Repair links them.
  if (!segment.extent_owner(extent).CompareExchange(claim, shard_.index() + 1)) return;
  segment.CellInExtent(extent, count - 1)->next.Set(header.free_head.Get());
  header.free_head.Set(segment.FirstCell(extent));
  header.free_count.Set(header.free_count.Get() + count);
}

}  // namespace holdfast::segment
