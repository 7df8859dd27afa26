// Finds the blocker of a request. Inside the shard lock; with corrupted links there is none.
#ifndef HOLDFAST_CORE_BLOCKER_OF_H_
#define HOLDFAST_CORE_BLOCKER_OF_H_

#include "core/lock_request.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// For a waiting request.
Blocker BlockerOf(const segment::ShardView& shard, const segment::RequestCell& request);
// For a request that will not wait (ifAvailable).
Blocker BlockerOfMiss(const segment::ShardView& shard, const LockRequest& request,
                      const segment::NameCell& name);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BLOCKER_OF_H_
