// The parts of a segment that this process has seen allocated.
//
// The file is sparse. A corrupted word may name an extent, or turn on the watch ring, that was
// never allocated. If the file system is full, touching it would kill the process (SIGBUS). So this
// process lets the kernel allocate each part once before it first touches it; for allocated memory
// that changes nothing.
#ifndef HOLDFAST_SEGMENT_BACKING_H_
#define HOLDFAST_SEGMENT_BACKING_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "segment/geometry.h"
#include "segment/host.h"

namespace holdfast::segment {

class Backing {
 public:
  Backing(const Geometry& geometry, Host& host)
      : geometry_(geometry), host_(host), known_(uint64_t{geometry.extents} + 1) {}

  // False: the extent must not be touched. A load of private memory, except at the first call. Any
  // thread.
  bool HasExtent(uint32_t extent) {
    return known_[extent].load(kRelaxed) || AllocateExtent(extent);
  }
  bool HasWatchRing() { return known_[geometry_.extents].load(kRelaxed) || AllocateWatchRing(); }

  // Notes that the kernel has allocated these bytes.
  void Note(uint64_t offset, uint64_t length);

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  bool AllocateExtent(uint32_t extent);
  bool AllocateWatchRing();
  bool Allocate(uint64_t offset, uint64_t length);

  const Geometry geometry_;
  Host& host_;
  std::vector<std::atomic<bool>> known_;  // of each extent, then of the watch ring
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_BACKING_H_
