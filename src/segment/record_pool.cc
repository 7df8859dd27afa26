#include "segment/record_pool.h"

namespace holdfast::segment {

[[gnu::cold]] void RecordPool::Prepare(Segment& segment, uint32_t extent) {
  const CellId first = segment.FirstCell(extent);
  const uint32_t count = segment.geometry().cells_per_extent;
  for (uint32_t i = 0; i < count; ++i) {
    AnyCell* const cell = segment.CellInExtent(extent, i);
    cell->state.Set(CellState::kFree);
    cell->next.Set(i + 1 < count ? first + i + 1 : kNoCell);
  }
}

[[gnu::cold]] void RecordPool::AddExtent(uint32_t extent, uint32_t claim) {
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

[[gnu::cold]] void RecordPool::LinkFree() {
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

bool TextPieces::Write(const char16_t* units, uint32_t length, Shared<CellId>& first) {
  RecordPool pool(shard_);
  first.Set(kNoCell);
  Shared<CellId>* link = &first;
  for (uint32_t i = 0; i < length;) {
    const CellId id = pool.Allocate();
    if (id == kNoCell) return false;
    TextCell& text = AsText(*shard_.segment().CellByNumber(id - 1));
    for (uint32_t j = 0; j < kTextCellUnits && i < length; ++j, ++i) {
      text.units[j].Set(static_cast<uint16_t>(units[i]));
    }
    text.owner.Set(owner_);
    text.following.Set(kNoCell);
    text.state.Publish(CellState::kText);
    link->Set(id);
    link = &text.following;
  }
  return true;
}

bool TextPieces::Free(CellId first) {
  RecordPool pool(shard_);
  CellId id = first;
  for (uint32_t steps = 0; id != kNoCell && steps < shard_.MaxCells(); ++steps) {
    TextCell* const text = shard_.TextAt(id);
    if (text == nullptr || text->owner.Get() != owner_) {
      shard_.MarkCorrupted();
      return false;
    }
    const CellId following = text->following.Get();
    pool.Free(id, reinterpret_cast<AnyCell&>(*text));
    id = following;
  }
  return true;
}

}  // namespace holdfast::segment
