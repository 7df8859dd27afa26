// A consistent snapshot of the whole bucket: the held locks and pending requests of one moment.
// Standard: Web Locks "snapshot the lock state" (#algorithm-snapshot-the-lock-state).
#ifndef HOLDFAST_CORE_SNAPSHOT_H_
#define HOLDFAST_CORE_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/lock_manager.h"
#include "platform/result.h"

namespace holdfast::core {

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
};

struct Snapshot {
  std::vector<LockInfo> held;             // per name in the order of the requests
  std::vector<LockInfo> pending;          // likewise
  std::vector<segment::ProcessRef> dead;  // dead processes found; not shown, to be reaped
};

// Copies the cells in use, shard by shard if possible (table_copy.h), and reads the copy. kBusy if
// a shard could not be locked in time.
Result<Snapshot> TakeSnapshot(LockManager& manager, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SNAPSHOT_H_
