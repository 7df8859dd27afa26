// Takes unused room from shards. A last resort: it reads all of their cells.
#ifndef HOLDFAST_CORE_EXTENT_RECLAIM_H_
#define HOLDFAST_CORE_EXTENT_RECLAIM_H_

#include <cstdint>

#include "core/lock_manager.h"

namespace holdfast::core {

// Takes every extent without a record from its shard, and returns their number; busy shards are
// skipped after `timeout_ns`. REQUIRES: no shard lock is held.
uint32_t ReclaimExtents(LockManager& manager, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_EXTENT_RECLAIM_H_
