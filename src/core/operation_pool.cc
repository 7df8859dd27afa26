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

Result<OperationBuffer> OperationPool::Allocate(uint32_t text_cells) {
  const segment::Geometry& geometry = segment_.geometry();
  if (text_cells > geometry.cells_per_extent - OperationsPerExtent(geometry)) {
    return Status(StatusCode::kSegmentFull,
                  "the name is too long to be queued while the lock table is busy");
  }
  OperationBuffer buffer;
  while (!FindBuffer(text_cells, buffer)) {
    // Not under the mutex: it makes system calls.
    const Result<std::vector<uint32_t>> claimed = growth_.ClaimForOperations();
    if (!claimed.ok()) return claimed.status();
    const std::lock_guard<std::mutex> guard(mutex_);
    extents_.push_back({claimed->front(), std::vector<bool>(geometry.cells_per_extent), 0});
  }
  return buffer;
}

bool OperationPool::FindBuffer(uint32_t text_cells, OperationBuffer& buffer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::any_of(extents_.begin(), extents_.end(),
                     [&](Extent& extent) { return AllocateIn(extent, text_cells, buffer); });
}

bool OperationPool::AllocateIn(Extent& extent, uint32_t text_cells, OperationBuffer& buffer) {
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
  buffer = {first + at, first + text_at, text_cells};
  return true;
}

void OperationPool::Free(std::span<const OperationBuffer> buffers) {
  std::vector<uint32_t> unused;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const OperationBuffer& buffer : buffers) {
      for (Extent& extent : extents_) FreeIn(extent, buffer);
    }
    for (const Extent& extent : extents_) {
      if (extent.used_count == 0) unused.push_back(extent.number);
    }
    std::erase_if(extents_, [](const Extent& extent) { return extent.used_count == 0; });
  }
  for (const uint32_t extent : unused) growth_.Unclaim(extent);
}

void OperationPool::FreeIn(Extent& extent, const OperationBuffer& buffer) {
  const CellId first = segment_.FirstCell(extent.number);
  const bool is_here =
      buffer.id >= first && buffer.id - first < segment_.geometry().cells_per_extent;
  if (!is_here || !extent.used[buffer.id - first]) return;
  Mark(extent.used, buffer.id - first, 1, false);
  Mark(extent.used, buffer.text - first, buffer.text_cells, false);
  --extent.used_count;
}

}  // namespace holdfast::core
