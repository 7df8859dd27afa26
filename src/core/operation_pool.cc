#include "core/operation_pool.h"

#include <algorithm>

namespace holdfast::core {

using segment::CellId;
using segment::OperationsPerExtent;

namespace {

// The first of `count` unused cells beside each other in [begin, end); `end`: there are none.
uint32_t FindRun(const std::vector<bool>& used, uint32_t begin, uint32_t end, uint32_t count) {
  uint32_t run = 0;
  for (uint32_t i = begin; i < end; ++i) {
    run = used[i] ? 0 : run + 1;
    if (run == count) return i + 1 - count;
  }
  return end;
}

void Mark(std::vector<bool>& used, uint32_t begin, uint32_t count, bool value) {
  std::fill_n(used.begin() + begin, count, value);
}

}  // namespace

Result<OperationPlace> OperationPool::Take(uint32_t text_cells) {
  const segment::Geometry& geometry = segment_.geometry();
  if (text_cells > geometry.cells_per_extent - OperationsPerExtent(geometry)) {
    return Status(StatusCode::kSegmentFull,
                  "the name is too long to be queued while the lock table is busy");
  }
  OperationPlace place;
  while (!FindPlace(text_cells, place)) {
    // Not under the mutex: it makes system calls.
    const Result<std::vector<uint32_t>> claimed = growth_.ClaimForOperations();
    if (!claimed.ok()) return claimed.status();
    const std::lock_guard<std::mutex> guard(mutex_);
    extents_.push_back({claimed->front(), std::vector<bool>(geometry.cells_per_extent), 0});
  }
  return place;
}

bool OperationPool::FindPlace(uint32_t text_cells, OperationPlace& place) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::any_of(extents_.begin(), extents_.end(),
                     [&](Extent& extent) { return TakeIn(extent, text_cells, place); });
}

bool OperationPool::TakeIn(Extent& extent, uint32_t text_cells, OperationPlace& place) {
  const uint32_t operations = OperationsPerExtent(segment_.geometry());
  const uint32_t cells = segment_.geometry().cells_per_extent;
  const uint32_t at = FindRun(extent.used, 0, operations, 1);
  if (at == operations) return false;
  const uint32_t text_at =
      text_cells == 0 ? operations : FindRun(extent.used, operations, cells, text_cells);
  if (text_at == cells) return false;
  Mark(extent.used, at, 1, true);
  Mark(extent.used, text_at, text_cells, true);
  ++extent.used_count;
  const CellId first = segment_.FirstCell(extent.number);
  place = {first + at, first + text_at, text_cells};
  return true;
}

void OperationPool::Give(std::span<const OperationPlace> places) {
  std::vector<uint32_t> unused;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const OperationPlace& place : places) {
      for (Extent& extent : extents_) GiveIn(extent, place);
    }
    for (const Extent& extent : extents_) {
      if (extent.used_count == 0) unused.push_back(extent.number);
    }
    std::erase_if(extents_, [](const Extent& extent) { return extent.used_count == 0; });
  }
  for (const uint32_t extent : unused) growth_.Unclaim(extent);
}

void OperationPool::GiveIn(Extent& extent, const OperationPlace& place) {
  const CellId first = segment_.FirstCell(extent.number);
  const bool is_here = place.id >= first && place.id - first < segment_.geometry().cells_per_extent;
  if (!is_here || !extent.used[place.id - first]) return;
  Mark(extent.used, place.id - first, 1, false);
  Mark(extent.used, place.text - first, place.text_cells, false);
  --extent.used_count;
}

}  // namespace holdfast::core
