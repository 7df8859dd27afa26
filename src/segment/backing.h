// Which parts of a segment this process knows to have memory behind them.
//
// The file is sparse. A damaged word may claim an extent, or switch the watch ring on, that nobody
// has allocated; where the file system is full, touching it would end the process (SIGBUS). So the
// kernel is asked to allocate each part once, before this process first touches it there: where the
// memory is there already, that changes nothing.
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

  // False: the extent may not be touched. A load of private memory, but for the first time. Any
  // thread.
  bool HasExtent(uint32_t extent) { return known_[extent].load(kRelaxed) || AskForExtent(extent); }
  bool HasWatchRing() { return known_[geometry_.extents].load(kRelaxed) || AskForWatchRing(); }

  // These bytes have memory behind them, as the kernel said.
  void Note(uint64_t offset, uint64_t length);

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  bool AskForExtent(uint32_t extent);
  bool AskForWatchRing();
  bool Ask(uint64_t offset, uint64_t length);

  const Geometry geometry_;
  Host& host_;
  std::vector<std::atomic<bool>> known_;  // of each extent, then of the watch ring
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_BACKING_H_
