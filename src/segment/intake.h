// The intake of a shard: operations of agents that found the shard locked. An agent writes what it
// wants into a cell of its own, pushes the cell, and goes on; whoever is inside the shard executes
// what is there before anything else, and looks again after it has unlocked
// (docs/decisions/0024-an-intake-for-a-busy-shard.md).
//
// Operations live in extents that a process has claimed, and no shard owns. The first quarter of
// such an extent are operations, the rest are their texts, so that no text is ever read as one.
#ifndef HOLDFAST_SEGMENT_INTAKE_H_
#define HOLDFAST_SEGMENT_INTAKE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "segment/geometry.h"
#include "segment/shard_view.h"

namespace holdfast::segment {

inline constexpr uint32_t kOperationTextUnits = kCellBytes / sizeof(char16_t);

inline uint32_t OperationsPerExtent(const Geometry& geometry) {
  return geometry.cells_per_extent / 4;
}

inline OperationCell& AsOperation(AnyCell& cell) { return reinterpret_cast<OperationCell&>(cell); }
// Null when `id` cannot be an operation.
OperationCell* OperationAt(Segment& segment, CellId id);

struct OperationTexts {
  std::u16string_view name;
  std::u16string_view label;
  std::u16string_view call_site;

  uint64_t units() const { return name.size() + label.size() + call_site.size(); }
  uint32_t cells() const {
    return static_cast<uint32_t>((units() + kOperationTextUnits - 1) / kOperationTextUnits);
  }
};
// By the agent, before the operation is pending. `text_at`: the first cell of the room for them.
void WriteTexts(Segment& segment, OperationCell& operation, CellId text_at,
                const OperationTexts& texts);
// False: damaged. The views are of the segment, and nobody writes there any more.
bool ReadTexts(Segment& segment, CellId id, const OperationCell& operation, OperationTexts& texts);

// By the agent, without the shard lock: gives the operation its number, makes it pending, pushes
// it.
void PushOperation(Segment& segment, CellId id, OperationCell& operation);

// Ordered after what this thread has done before, its unlocking for one.
inline bool HasOperations(const ShardHeader& shard) { return shard.intake.LoadSeqCst() != kNoCell; }

// Inside the shard: takes all operations, and gives them in the order in which they were pushed.
class IntakeReader {
 public:
  explicit IntakeReader(const ShardView& shard);
  // Null at the end, and where the links are damaged: then the shard is marked.
  OperationCell* Next(CellId& id);

 private:
  OperationCell* Check(CellId id) const;

  ShardView shard_;
  CellId next_ = kNoCell;
};

// Inside the shard, for a repair: forgets the links, and finds the operations that were pending by
// then, by their numbers. An operation that this does not see is pushed afterwards.
std::vector<CellId> FindOperations(const ShardView& shard);

// The agent that wants it; generation 0: it is gone.
AgentRef AgentOf(const Segment& segment, const OperationCell& operation);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_INTAKE_H_
