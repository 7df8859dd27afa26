// The lock of one shard: a word of 32 bits. It names its owner, so that a waiter can take it over
// from a dead process. Futex waits are bounded, so that a wake-up which a dying process failed to
// send is never needed.
//
//   31        waiters   a thread may sleep on the word: the unlocker wakes one
//   30 ..  0  the owner (ProcessRef::ToShortWord); 0 with all other bits 0: unlocked
//
// The lock is never broken while its owner lives: a process that is stopped inside keeps it. If
// corruption makes the word name a process that is not inside, only that process can detect it
// (DisownShards), by the marks of its threads. A thread is marked from before it tries to take the
// lock until it has released the lock or sleeps (invariant I14).
#ifndef HOLDFAST_SEGMENT_LOCK_WORD_H_
#define HOLDFAST_SEGMENT_LOCK_WORD_H_

#include <cstdint>
#include <utility>

#include "platform/critical_section_mark.h"
#include "platform/result.h"
#include "segment/host.h"
#include "segment/publication_list.h"
#include "segment/segment.h"

namespace holdfast::segment {

enum class LockOutcome {
  kAcquired,
  kOwnerDied,  // acquired from an owner that died inside: repair first
  kTimedOut,   // not acquired
};

class LockWord {
 public:
  LockWord(Segment& segment, uint32_t shard)
      : segment_(segment), word_(segment.shard(shard).lock_word) {}

  // Spins briefly, then sleeps in slices until `timeout_ns` has passed; after each slice it checks
  // whether the owner lives. With 0 it only spins, and takes over from no dead owner. `mark` is
  // this thread's, and is entered for the section that begins.
  LockOutcome Acquire(ProcessRef self, platform::CriticalSectionMark& mark, Host& host,
                      uint64_t timeout_ns) {
    const uint32_t self_word = self.ToShortWord();
    if (TryTake(self_word)) return LockOutcome::kAcquired;
    return AcquireHeld(self_word, mark, host, timeout_ns);
  }
  bool TryAcquire(ProcessRef self) { return TryTake(self.ToShortWord()); }
  void Release(ProcessRef self, Host& host) {
    uint32_t seen = self.ToShortWord();
    if (word_.CompareExchange(seen, 0)) return;
    ReleaseChanged(self.ToShortWord(), seen, host);
  }

  // The process that the word names; generation 0: unlocked, or no process that can be alive.
  ProcessRef Owner() const { return OwnerOf(word_.Get()); }
  ProcessRef OwnerOf(uint32_t word) const;
  bool IsLocked() const { return word_.Acquire() != 0; }

 private:
  static constexpr uint32_t kWaiters = 0x80000000;

  bool TryTake(uint32_t self_word) {
    uint32_t expected = 0;
    return word_.CompareExchange(expected, self_word);
  }
  LockOutcome AcquireHeld(uint32_t self_word, platform::CriticalSectionMark& mark, Host& host,
                          uint64_t timeout_ns);
  LockOutcome AcquireSlowly(uint32_t self_word, platform::CriticalSectionMark& mark, Host& host,
                            uint64_t timeout_ns);
  void ReleaseChanged(uint32_t self_word, uint32_t seen, Host& host);

  Segment& segment_;
  Shared<uint32_t>& word_;
};

// Executes the operations that arrived in the publication list of a shard (publication_list.h)
// while it was locked.
class PublicationHandler {
 public:
  virtual ~PublicationHandler() = default;
  // Not inside the shard. If the shard is locked again, its owner executes them.
  virtual void CombineIfUnlocked(uint32_t shard) = 0;
};

// Being inside a shard: from construction by Enter to the end of the scope.
//
// Inside: no system call, no allocation, no wait, no JavaScript, no second shard (see
// docs/lock-order.md). Agents to wake are noted, and rung afterwards.
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
      worker_->CombineIfUnlocked(shard_);
    }
  }

  // From now on the end of the scope checks the publication list.
  void SetPublicationHandler(PublicationHandler& worker) { worker_ = &worker; }

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
  PublicationHandler* worker_ = nullptr;
  uint32_t shard_;
  ProcessRef self_;
};

// Handles a lock word that corruption has made name a live process. Peers cannot distinguish that
// process from a process that is stopped inside. Only the named process can detect that it is not
// inside, and it frees the shard (invariant I14; docs/decisions/0005-a-lifeline-per-process.md).
//
// Frees every shard whose lock names this process though none of its threads is inside any shard,
// and leaves it to be repaired. A shard whose state is uncertain is left alone: call again.
void DisownShards(Segment& segment, ProcessRef self, Host& host);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_LOCK_WORD_H_
