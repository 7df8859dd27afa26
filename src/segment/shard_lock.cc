#include "segment/shard_lock.h"

namespace holdfast::segment {

Result<ShardLock> ShardLock::Enter(const Segment& segment, uint32_t shard, ProcessRef self,
                                   Environment& environment, uint64_t budget_ns) {
  const LockOutcome outcome = LockWord(segment, shard).Acquire(self, environment, budget_ns);
  if (outcome == LockOutcome::kTimedOut) {
    return Status(StatusCode::kBusy, "the shard is kept locked by a process that does not run");
  }
  // Should this process die too before the repair is over, its own death says so again.
  if (outcome == LockOutcome::kOwnerDied) segment.shard(shard).dirty.Set(1);
  return ShardLock(segment, shard, self, environment);
}

}  // namespace holdfast::segment
