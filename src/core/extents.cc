#include "core/extents.h"

#include <algorithm>

#include "segment/biased_record.h"
#include "segment/record_pool.h"

namespace holdfast::core {

using segment::kExtentClaimed;
using segment::ProcessRef;

namespace {

constexpr uint32_t kSlotBits = 11;  // of ProcessRef::ToShortWord

}  // namespace

// Claims an extent that is free, or whose claimer was reaped: before that a publication list may
// contain its operations.
bool ExtentGrowth::TryClaim(uint32_t extent) {
  segment::Shared<uint32_t>& owner = segment_.extent_owner(extent);
  uint32_t seen = owner.Get();
  return IsFree(seen) && owner.CompareExchange(seen, ClaimWord());
}

bool ExtentGrowth::IsFree(uint32_t seen) const {
  if (seen == 0) return true;
  if ((seen & kExtentClaimed) == 0 || seen == ClaimWord()) return false;
  return IsReaped(seen & ~kExtentClaimed);
}

bool ExtentGrowth::AreMoreFree(uint32_t count) const {
  uint32_t free = 0;
  for (uint32_t extent = 0; extent < segment_.geometry().extents && free <= count; ++extent) {
    if (IsFree(segment_.extent_owner(extent).Get())) ++free;
  }
  return free > count;
}

// Operations wait for one busy shard: they must not fill the table for the others. An extent for
// each shard is left, in a small table a quarter of all.
Result<std::vector<uint32_t>> ExtentGrowth::ClaimForOperations() {
  const uint32_t reserve = std::min(segment_.geometry().shards, segment_.geometry().extents / 4);
  if (AreMoreFree(reserve)) return Claim(1);
  return Status(StatusCode::kSegmentFull, "the lock table is full (see the capacity option)");
}

bool ExtentGrowth::IsReaped(uint32_t short_word) const {
  const uint32_t slot = (short_word & ProcessRef::kShortSlot) - 1;
  if (slot >= segment_.geometry().processes) return true;  // corrupted
  const segment::ProcessEntry& entry = segment_.process(slot);
  const uint32_t newest = entry.generation.Acquire();
  const uint32_t cleaned = entry.cleaned_generation.Acquire();
  // The newest generation with these bits identifies the claimer.
  const uint32_t short_newest = ProcessRef{static_cast<uint16_t>(slot), newest}.ToShortWord();
  const uint32_t age =
      ((short_newest >> kSlotBits) - (short_word >> kSlotBits)) & ProcessRef::kShortGeneration;
  const ProcessRef claimer{static_cast<uint16_t>(slot), newest - age};
  return static_cast<int32_t>(cleaned - claimer.generation) >= 0 && !host_.IsAlive(claimer);
}

Result<std::vector<uint32_t>> ExtentGrowth::Claim(uint32_t cells) {
  const uint32_t per_extent = segment_.geometry().cells_per_extent;
  std::vector<uint32_t> extents;
  const Status claimed = ClaimInto(extents, cells / per_extent + (cells % per_extent != 0 ? 1 : 0));
  if (claimed.ok()) return extents;
  for (const uint32_t extent : extents) Unclaim(extent);
  return claimed;
}

Status ExtentGrowth::ClaimInto(std::vector<uint32_t>& extents, uint32_t count) {
  for (uint32_t extent = 0; extents.size() < count; ++extent) {
    if (extent == segment_.geometry().extents) {
      return Status(StatusCode::kSegmentFull, "the lock table is full (see the capacity option)");
    }
    if (!TryClaim(extent)) continue;
    extents.push_back(extent);
    const Status allocated =
        host_.Allocate(segment_.ExtentOffset(extent), segment_.geometry().extent_bytes);
    if (!allocated.ok()) return allocated;
    segment::RecordPool::Prepare(segment_, extent);
  }
  return Status();
}

void ExtentGrowth::Unclaim(uint32_t extent) {
  uint32_t mine = ClaimWord();
  segment_.extent_owner(extent).CompareExchange(mine, 0);
}

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
// until the list has the others alone. After a death here no process uses the list.
uint32_t ReleaseExtents(LockTable& lock_table, uint32_t shard) {
  Segment& segment = lock_table.segment();
  segment::ShardHeader& header = segment.shard(shard);
  uint32_t released = 0;
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    if (!segment.IsExtentOf(shard, extent) || !IsWhollyFree(segment, extent)) continue;
    // Checked once: an agent that comes later finds no record of these extents.
    if (released == 0 && segment::MayRevoke(segment, lock_table.host(), shard)) break;
    header.dirty.Set(1);
    segment.extent_owner(extent).Publish(0);
    ++released;
  }
  if (released == 0) return 0;
  segment::RecordPool(segment::ShardView(segment, shard)).LinkFree();
  header.dirty.Set(0);
  return released;
}

}  // namespace

uint32_t ReclaimExtents(LockTable& lock_table, uint64_t timeout_ns) {
  Segment& segment = lock_table.segment();
  uint32_t reclaimed = 0;
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    if (segment.shard(shard).free_count.Get() < segment.geometry().cells_per_extent) continue;
    WakeQueue wake_queue(segment, lock_table.host());
    const Result<ShardLock> lock = lock_table.Enter(shard, wake_queue, timeout_ns);
    if (!lock.ok()) break;
    reclaimed += ReleaseExtents(lock_table, shard);
  }
  return reclaimed;
}

}  // namespace holdfast::core
