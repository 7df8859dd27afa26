// A copy of the whole table's cells as of one moment, taken while peers continue to work.
//
// Each shard is copied under its own lock, together with its change counter. If no counter has
// changed after the last copy, then the table was equal to the copy at the moment between the last
// copy and the first check. Shards that have changed are copied again, so often in all
// (kMaxCopies). If shards change faster than they are copied, the copy of each shard is as of a
// different moment. A process that is stopped in a copy keeps one shard.
#ifndef HOLDFAST_CORE_TABLE_COPY_H_
#define HOLDFAST_CORE_TABLE_COPY_H_

#include <cstdint>
#include <new>
#include <vector>

#include "core/lock_manager.h"
#include "platform/result.h"

namespace holdfast::core {

// A copied cell; for a request with the identity of its agent.
struct CopiedCell {
  segment::CellId id;
  uint32_t thread_id;
  uint64_t client_id[2];
  alignas(8) unsigned char bytes[segment::kCellBytes];

  // REQUIRES: T is the type of a cell in this state().
  template <typename T>
  const T& As() const {
    static_assert(sizeof(T) <= segment::kCellBytes && alignof(T) <= 8);
    return *std::launder(reinterpret_cast<const T*>(bytes));
  }
  segment::CellState state() const { return As<segment::AnyCell>().state.Get(); }
  bool IsShown() const {
    return state() == segment::CellState::kHeld || state() == segment::CellState::kWaiting;
  }
};

class TableCopy {
 public:
  explicit TableCopy(LockManager& manager)
      : manager_(manager), shards_(manager.segment().geometry().shards) {}

  // kBusy if a shard could not be locked in time, or the table grew faster than it was copied.
  Status Take(uint64_t timeout_ns);

  // The cells of a shard that are in use, by id.
  const std::vector<CopiedCell>& CellsOf(uint32_t shard) const { return shards_[shard].cells; }
  // Null if the cell is not in this state.
  const CopiedCell* Find(uint32_t shard, segment::CellId id, segment::CellState state) const;

 private:
  struct ShardCopy {
    std::vector<CopiedCell> cells;
    uint64_t changes = 0;
  };

  Status CopyShard(uint32_t shard, uint64_t timeout_ns);
  void MakeRoom(uint32_t shard);
  // How many cells the extents of a shard have.
  uint64_t CellsOfExtents(uint32_t shard) const;
  bool CopyLocked(uint32_t shard);
  std::vector<uint32_t> ChangedShards() const;

  LockManager& manager_;
  std::vector<ShardCopy> shards_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_TABLE_COPY_H_
