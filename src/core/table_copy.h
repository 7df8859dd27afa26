// The cells of the whole table as they were at one moment, copied while others go on working.
//
// Each shard is copied inside its own lock, with the number of its changes so far. When all are
// copied and these numbers still stand, then no shard has changed since it was copied, so at the
// moment between the last copy and the first look at a number the whole table was what was copied.
// Those that have changed are copied again. Those that change all the time are kept locked together
// while they are copied and while the others are looked at; that moment is the one that is shown.
#ifndef HOLDFAST_CORE_TABLE_COPY_H_
#define HOLDFAST_CORE_TABLE_COPY_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/lock_manager.h"
#include "platform/result.h"

namespace holdfast::core {

// A cell as it was, with what its agent says of itself if it is a request.
struct CopiedCell {
  segment::CellId id;
  uint32_t thread_id;
  uint64_t client_id[2];
  alignas(8) unsigned char bytes[segment::kCellBytes];

  template <typename T>
  T Read(size_t offset) const {
    T value;
    std::memcpy(&value, bytes + offset, sizeof(T));
    return value;
  }
  segment::CellState state() const {
    return Read<segment::CellState>(offsetof(segment::AnyCell, state));
  }
  bool IsShown() const {
    return state() == segment::CellState::kHeld || state() == segment::CellState::kWaiting;
  }
};

class TableCopy {
 public:
  explicit TableCopy(LockManager& manager)
      : manager_(manager), shards_(manager.segment().geometry().shards) {}

  // kBusy when a shard was not to be had in time, or the table grew faster than it was copied.
  Status Take(uint64_t timeout_ns);

  // Those of a shard that are in use, by their ids.
  const std::vector<CopiedCell>& CellsOf(uint32_t shard) const { return shards_[shard].cells; }
  // Null when there is none that is in this state.
  const CopiedCell* Find(uint32_t shard, segment::CellId id, segment::CellState state) const;

 private:
  struct ShardCopy {
    std::vector<CopiedCell> cells;
    uint64_t changes = 0;
  };
  using Shards = std::vector<uint32_t>;  // ascending

  Status CopyEach(const Shards& shards, uint64_t timeout_ns);
  Status CopyTogether(const Shards& shards, uint64_t timeout_ns, Shards* changed);
  void MakeRoom(uint32_t shard);
  bool CopyLocked(uint32_t shard);
  Shards Changed(const Shards& locked) const;

  LockManager& manager_;
  std::vector<ShardCopy> shards_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_TABLE_COPY_H_
