// Being inside a shard: from construction by Enter to the end of the scope.
//
// Inside: no system call, no allocation, no wait, no JavaScript, no second shard (see
// docs/lock-order.md). Agents to wake are noted, and rung afterwards.
#ifndef HOLDFAST_SEGMENT_SHARD_LOCK_H_
#define HOLDFAST_SEGMENT_SHARD_LOCK_H_

#include <cstdint>
#include <utility>

#include "platform/critical_section_mark.h"
#include "platform/result.h"
#include "segment/intake.h"
#include "segment/lock_word.h"

namespace holdfast::segment {

// Executes the operations that arrived in the intake of a shard (intake.h) while it was locked.
class IntakeWorker {
 public:
  virtual ~IntakeWorker() = default;
  // Not inside the shard. If the shard is locked again, its owner executes them.
  virtual void WorkOffIntake(uint32_t shard) = 0;
};

class ShardLock {
  class Key {};

 public:
  // kBusy: the lock could not be acquired within `timeout_ns`. With 0 also if the shard needs a
  // repair, which takes the longer the larger the shard is.
  static Result<ShardLock> Enter(Segment& segment, uint32_t shard, ProcessRef self, Host& host,
                                 uint64_t timeout_ns) {
    platform::CriticalSectionMark& mark = platform::MarkOfThisThread();
    mark.Enter();
    const LockOutcome outcome = LockWord(segment, shard).Acquire(self, mark, host, timeout_ns);
    if (outcome == LockOutcome::kTimedOut) {
      mark.Leave();
      return Status(StatusCode::kBusy, "the shard is kept locked by a process that does not run");
    }
    // If this process dies before the repair is complete, its death starts the repair again.
    if (outcome == LockOutcome::kOwnerDied) segment.shard(shard).dirty.Set(1);
    if (timeout_ns == 0 && segment.shard(shard).dirty.Get() != 0) {
      LockWord(segment, shard).Release(self, host);
      mark.Leave();
      return Status(StatusCode::kBusy, "the shard must be repaired");
    }
    return Result<ShardLock>(std::in_place, Key(), segment, shard, self, host, mark);
  }
  // One attempt, without any wait; kBusy also if the owner is dead.
  static Result<ShardLock> TryEnter(Segment& segment, uint32_t shard, ProcessRef self, Host& host) {
    platform::CriticalSectionMark& mark = platform::MarkOfThisThread();
    mark.Enter();
    if (LockWord(segment, shard).TryAcquire(self)) {
      return Result<ShardLock>(std::in_place, Key(), segment, shard, self, host, mark);
    }
    mark.Leave();
    return Status(StatusCode::kBusy, "the shard is locked");
  }
  ShardLock(ShardLock&& other) noexcept
      : segment_(std::exchange(other.segment_, nullptr)),
        host_(other.host_),
        mark_(other.mark_),
        worker_(other.worker_),
        shard_(other.shard_),
        self_(other.self_) {}
  ShardLock(const ShardLock&) = delete;
  ShardLock& operator=(const ShardLock&) = delete;
  ShardLock& operator=(ShardLock&&) = delete;
  ~ShardLock() {
    if (segment_ == nullptr) return;
    LockWord(*segment_, shard_).Release(self_, *host_);
    mark_->Leave();
    // An agent that pushes an operation tries the lock afterwards: one of the two sees the other.
    if (worker_ != nullptr && HasOperations(segment_->shard(shard_))) {
      worker_->WorkOffIntake(shard_);
    }
  }

  // From now on the end of the scope checks the intake.
  void SetIntakeWorker(IntakeWorker& worker) { worker_ = &worker; }

  // The last owner died inside, or a thread found corruption: the index must not be used.
  bool NeedsRepair() const { return segment_->shard(shard_).dirty.Get() != 0; }

  // For Enter() and TryEnter() alone.
  ShardLock(Key, Segment& segment, uint32_t shard, ProcessRef self, Host& host,
            platform::CriticalSectionMark& mark)
      : segment_(&segment), host_(&host), mark_(&mark), shard_(shard), self_(self) {}

 private:
  Segment* segment_;
  Host* host_;
  platform::CriticalSectionMark* mark_;
  IntakeWorker* worker_ = nullptr;
  uint32_t shard_;
  ProcessRef self_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_SHARD_LOCK_H_
