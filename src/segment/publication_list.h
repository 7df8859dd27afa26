// The publication list of a shard: operations of agents that found the shard locked. An agent
// writes its request or release into its own cell, pushes the cell, and continues. The owner of the
// shard lock executes the publication list first, and checks it again after unlocking
// (docs/flat-combining.md).
//
// Operations are in extents that a process has claimed and no shard owns. The first quarter of such
// an extent is for operations, the rest for their texts, so that no text is ever read as an
// operation.
#ifndef HOLDFAST_SEGMENT_PUBLICATION_LIST_H_
#define HOLDFAST_SEGMENT_PUBLICATION_LIST_H_

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
// Called by the agent, before the operation is pending. `text_at`: the first cell for the texts.
void WriteTexts(Segment& segment, OperationCell& operation, CellId text_at,
                const OperationTexts& texts);
// False: corrupted. The views point into the segment, where no agent writes any more.
bool ReadTexts(Segment& segment, CellId id, const OperationCell& operation, OperationTexts& texts);

// Called by the agent, without the shard lock: gives the operation its number, makes it pending and
// pushes it.
void PushOperation(Segment& segment, CellId id, OperationCell& operation);

// Ordered after all earlier stores of this thread, for example its unlocking.
inline bool HasOperations(const ShardHeader& shard) {
  return shard.publications.LoadSeqCst() != kNoCell;
}

// Inside the shard: takes all operations, and returns them in the order of their pushes.
class PublicationReader {
 public:
  explicit PublicationReader(const ShardView& shard);
  // Null at the end, and if the links are corrupted: then the shard is marked.
  OperationCell* Next(CellId& id);

 private:
  OperationCell* Check(CellId id) const;

  ShardView shard_;
  CellId next_ = kNoCell;
};

// The number of an operation, unique in the table: a reused cell never has the number of an earlier
// operation again, of whichever shard. In one shard, later operations have larger numbers.
inline uint64_t OperationNumber(uint32_t shard, uint64_t order) {
  constexpr uint32_t kOrderBits = 48;
  return (uint64_t{shard} << kOrderBits) + order;
}

// An operation by its number: its cell may be reused.
struct OperationRef {
  CellId id = kNoCell;
  uint64_t number = 0;
};

// Inside the shard, for a repair: discards the links, and finds the operations that were pending by
// then, by number. An operation that it does not see is pushed afterwards.
std::vector<OperationRef> FindOperations(const ShardView& shard);
// Sets the agents whose operations are or were in this shard. A process that died inside may have
// answered an operation without waking the agent.
void NoteAgentsOf(const ShardView& shard, std::vector<bool>& agents);

// Inside the shard: an operation that was found, if it is still pending and its agent exists. The
// cell then stays the operation's until this thread leaves. The cells of a reaped process are
// reused only after each thread that was inside at the end of its agents has left
// (LockTable::Reap).
OperationCell* PendingOperation(const ShardView& shard, const OperationRef& found);

// The agent of the operation; generation 0: it has ended.
AgentRef AgentOf(const Segment& segment, const OperationCell& operation);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_PUBLICATION_LIST_H_
