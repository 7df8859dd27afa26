// More room for a shard: claims an extent that nobody has, has the kernel allocate it, and writes
// its cells; all of that outside the shard lock. Nobody waits for anybody: each thread that needs
// an extent claims its own.
#ifndef HOLDFAST_CORE_EXTENT_GROWTH_H_
#define HOLDFAST_CORE_EXTENT_GROWTH_H_

#include <cstdint>
#include <vector>

#include "platform/result.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

class ExtentGrowth {
 public:
  ExtentGrowth(const segment::Segment& segment, segment::Host& host, segment::ProcessRef self)
      : segment_(segment), host_(host), self_(self) {}

  // Extents for so many cells: allocated, prepared, and claimed by this process. kSegmentFull: the
  // capacity is used up, or the file system has no more room; nothing is claimed then.
  Result<std::vector<uint32_t>> Claim(uint32_t cells);
  void Unclaim(uint32_t extent);

  // What the owner word of an extent says that is claimed by this process.
  uint32_t ClaimWord() const { return segment::kExtentClaimed | self_.ToShortWord(); }

 private:
  bool TryClaim(uint32_t extent);
  bool IsReaped(uint32_t short_word) const;
  Status ClaimInto(std::vector<uint32_t>& extents, uint32_t count);

  const segment::Segment& segment_;
  segment::Host& host_;
  segment::ProcessRef self_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_EXTENT_GROWTH_H_
