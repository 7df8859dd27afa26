// A consistent snapshot of the whole bucket: the held locks and pending requests of one moment.
// Standard: Web Locks "snapshot the lock state" (#algorithm-snapshot-state).
#ifndef HOLDFAST_CORE_SNAPSHOT_H_
#define HOLDFAST_CORE_SNAPSHOT_H_

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "core/lock_table.h"
#include "platform/result.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

// A copy of the whole table's cells as of one moment, taken while peers continue to work.
//
// Each shard is copied under its own lock, together with its change counter. If no counter has
// changed after the last copy, the table was equal to the copy between the last copy and the first
// check. Shards that have changed are copied again, so often in all (kMaxCopies). If shards change
// faster than they are copied, the copy of each shard is as of a different moment. A process that
// is stopped in a copy keeps one shard.

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
  explicit TableCopy(LockTable& lock_table)
      : lock_table_(lock_table), shards_(lock_table.segment().geometry().shards) {}

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

  LockTable& lock_table_;
  std::vector<ShardCopy> shards_;
};

// How full a bucket is. For display only: it is read without locks.
struct TableUsage {
  uint64_t capacity = 0;  // bytes
  uint32_t used_cells = 0;
  uint32_t max_cells = 0;
  uint32_t processes = 0;  // alive
  uint32_t max_processes = 0;
  uint32_t agents = 0;  // also agents of dead processes, until they are reaped
  uint32_t max_agents = 0;
};

TableUsage ReadTableUsage(const segment::Segment& segment, segment::Host& host);

struct LockInfo {
  std::u16string name;
  LockMode mode = LockMode::kExclusive;
  uint64_t client_id[2] = {0, 0};
  uint32_t process_id = 0;  // 0: of another PID namespace
  uint32_t thread_id = 0;
  uint64_t token = 0;  // 0: pending
  std::u16string label;
  std::u16string call_site;
  uint32_t limit = 0;            // 0: none
  uint64_t hold_limit_ns = 0;    // 0: none
  uint64_t requested_ms = 0;     // since 1970
  uint64_t granted_ms = 0;       // likewise; 0: pending
  uint32_t request_id = 0;       // its agent's number for it
  uint64_t enclosing_token = 0;  // 0: none
  segment::QueuePosition position;
};

struct Snapshot {
  std::vector<LockInfo> held;             // per name in the order of the queue
  std::vector<LockInfo> pending;          // likewise
  std::vector<segment::ProcessRef> dead;  // dead processes found; not shown, to be reaped
};

// Copies the cells in use, shard by shard if possible (TableCopy), and reads the copy. kBusy if
// a shard could not be locked in time.
Result<Snapshot> TakeSnapshot(LockTable& lock_table, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SNAPSHOT_H_
