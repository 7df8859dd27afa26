#include "segment/backing.h"

namespace holdfast::segment {

void Backing::Note(uint64_t offset, uint64_t length) {
  const auto covers = [&](uint64_t at, uint64_t bytes) {
    return at >= offset && at + bytes <= offset + length;
  };
  const Geometry& g = geometry_;
  if (covers(g.watch_ring_at, g.extents_at - g.watch_ring_at)) {
    known_[g.extents].store(true, kRelaxed);
  }
  const uint64_t first =
      offset <= g.extents_at ? 0 : (offset - g.extents_at + g.extent_bytes - 1) / g.extent_bytes;
  for (uint64_t extent = first; extent < g.extents; ++extent) {
    if (!covers(g.extents_at + extent * g.extent_bytes, g.extent_bytes)) return;
    known_[extent].store(true, kRelaxed);
  }
}

bool Backing::AllocateExtent(uint32_t extent) {
  return Allocate(geometry_.extents_at + uint64_t{extent} * geometry_.extent_bytes,
                  geometry_.extent_bytes);
}

bool Backing::AllocateWatchRing() {
  return Allocate(geometry_.watch_ring_at, geometry_.extents_at - geometry_.watch_ring_at);
}

bool Backing::Allocate(uint64_t offset, uint64_t length) {
  const Status allocated = host_.Allocate(offset, length);
  // False only if the memory is certainly missing: no other failure may make records vanish.
  if (allocated.code() == StatusCode::kNoSpace) return false;
  Note(offset, length);
  return true;
}

}  // namespace holdfast::segment
