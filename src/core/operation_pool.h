// The extents that an agent's process has claimed for the agent's operations (segment/intake.h).
// Private to the agent, so finding a free cell shares nothing. The pool claims an extent when it
// needs one, and releases it with its last operation.
#ifndef HOLDFAST_CORE_OPERATION_POOL_H_
#define HOLDFAST_CORE_OPERATION_POOL_H_

#include <cstdint>
#include <vector>

#include "core/extent_growth.h"
#include "platform/result.h"
#include "segment/intake.h"

namespace holdfast::core {

// The cells of one operation.
struct OperationPlace {
  segment::CellId id = segment::kNoCell;
  segment::CellId text = segment::kNoCell;
  uint32_t text_cells = 0;
};

class OperationPool {
 public:
  OperationPool(segment::Segment& segment, segment::Host& host, segment::ProcessRef self)
      : segment_(segment), growth_(segment, host, self) {}

  // kSegmentFull: there is no extent left, or the text is too large for one.
  Result<OperationPlace> Take(uint32_t text_cells);
  // REQUIRES: the operation is in no intake any more.
  void Give(const OperationPlace& place);
  // Releases all extents: the agent has ended.
  void GiveAll();

 private:
  struct Extent {
    uint32_t number;
    std::vector<bool> used;
    uint32_t used_count;
  };
  bool TakeIn(Extent& extent, uint32_t text_cells, OperationPlace& place);

  segment::Segment& segment_;
  ExtentGrowth growth_;
  std::vector<Extent> extents_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_OPERATION_POOL_H_
