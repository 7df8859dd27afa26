// Extents: the blocks of cells that shards get from the table, and give up when they are unused.
#ifndef HOLDFAST_CORE_EXTENTS_H_
#define HOLDFAST_CORE_EXTENTS_H_

#include <cstdint>
#include <vector>

#include "core/lock_table.h"
#include "platform/result.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

// Makes room for a shard: claims a free extent, lets the kernel allocate it, and initialises its
// cells, all outside the shard lock. Threads do not wait for each other: each thread that needs an
// extent claims its own.
class ExtentGrowth {
 public:
  ExtentGrowth(segment::Segment& segment, segment::Host& host, segment::ProcessRef self)
      : segment_(segment), host_(host), self_(self) {}

  // Returns extents for at least `cells` cells: allocated, prepared, and claimed by this process.
  // kSegmentFull: the capacity is used up; kNoSpace: the file system or the memory is. Nothing is
  // claimed then.
  Result<std::vector<uint32_t>> Claim(uint32_t cells);
  // One extent for operations, unless the shards may need those that are left.
  Result<std::vector<uint32_t>> ClaimForOperations();
  void Unclaim(uint32_t extent);

  // The owner word of an extent that this process has claimed.
  uint32_t ClaimWord() const { return segment::kExtentClaimed | self_.ToShortWord(); }

 private:
  bool TryClaim(uint32_t extent);
  bool IsFree(uint32_t seen) const;
  bool AreMoreFree(uint32_t count) const;
  bool IsReaped(uint32_t short_word) const;
  Status ClaimInto(std::vector<uint32_t>& extents, uint32_t count);

  segment::Segment& segment_;
  segment::Host& host_;
  segment::ProcessRef self_;
};

// A last resort, as it reads all cells of the shards. Takes every extent without a record from its
// shard, and returns their number; busy shards are skipped after `timeout_ns`. REQUIRES: no shard
// lock is held.
uint32_t ReclaimExtents(LockTable& lock_table, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_EXTENTS_H_
