// Room that one shard no longer needs, for the others. Only when nothing else is left: giving
// extents back costs the shard a repair.
#ifndef HOLDFAST_CORE_EXTENT_RECLAIM_H_
#define HOLDFAST_CORE_EXTENT_RECLAIM_H_

#include <cstdint>

#include "core/lock_manager.h"

namespace holdfast::core {

// Takes every extent without a record in it from its shard. How many were taken; none where the
// shards cannot be had within `timeout_ns`. Without a shard lock.
uint32_t ReclaimExtents(LockManager& manager, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_EXTENT_RECLAIM_H_
