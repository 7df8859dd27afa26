#include "core/extent_growth.h"

#include "segment/record_pool.h"

namespace holdfast::core {

using segment::kExtentClaimed;

// Free, or claimed by a process that died before it could use it.
bool ExtentGrowth::TryClaim(uint32_t extent) {
  segment::Shared<uint32_t>& owner = segment_.extent_owner(extent);
  uint32_t seen = owner.Get();
  if (seen == 0) return owner.CompareExchange(seen, ClaimWord());
  if ((seen & kExtentClaimed) == 0 || seen == ClaimWord()) return false;
  if (host_.IsAlive(segment_.FromShortWord(seen & ~kExtentClaimed))) return false;
  return owner.CompareExchange(seen, ClaimWord());
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

}  // namespace holdfast::core
