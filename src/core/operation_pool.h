// The extents that a process has claimed for the operations of its agents
// (segment/publication_list.h). The pool claims an extent when it needs one, and releases the
// extent with its last operation. It leaves the last extents of the table to the shards. Any
// thread.
#ifndef HOLDFAST_CORE_OPERATION_POOL_H_
#define HOLDFAST_CORE_OPERATION_POOL_H_

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/extents.h"
#include "platform/result.h"
#include "segment/publication_list.h"

namespace holdfast::core {

// The cells of one operation.
struct OperationBuffer {
  segment::CellId id = segment::kNoCell;
  segment::CellId text = segment::kNoCell;
  uint32_t text_cells = 0;
};

class OperationPool {
 public:
  OperationPool(segment::Segment& segment, segment::Host& host, segment::ProcessRef self)
      : segment_(segment), growth_(segment, host, self) {}

  // kSegmentFull: there is no extent left for operations, or the text is too large for one.
  Result<OperationBuffer> Allocate(uint32_t text_cells);
  // A buffer may be named twice. REQUIRES: the operations are in no publication list any more.
  void Free(std::span<const OperationBuffer> buffers);
  void Free(const OperationBuffer& buffer) { Free({&buffer, 1}); }

 private:
  struct Extent {
    uint32_t number;
    std::vector<bool> used;
    uint32_t used_count;
  };
  bool FindBuffer(uint32_t text_cells, OperationBuffer& buffer);
  bool AllocateIn(Extent& extent, uint32_t text_cells, OperationBuffer& buffer);
  void FreeIn(Extent& extent, const OperationBuffer& buffer);

  segment::Segment& segment_;
  ExtentGrowth growth_;
  std::mutex mutex_;
  std::vector<Extent> extents_;  // guarded by mutex_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_OPERATION_POOL_H_
