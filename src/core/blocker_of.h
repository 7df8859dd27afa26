// Who is before a request. Inside the shard lock; links that are damaged give nobody.
#ifndef HOLDFAST_CORE_BLOCKER_OF_H_
#define HOLDFAST_CORE_BLOCKER_OF_H_

#include "core/lock_request.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// Of a request that waits.
Blocker BlockerOf(const segment::ShardView& shard, const segment::RequestCell& request);
// Of a request that is not to wait.
Blocker BlockerOfMiss(const segment::ShardView& shard, const LockRequest& request,
                      const segment::NameCell& name);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BLOCKER_OF_H_
