// The lock of one shard: a word of 32 bits. It names its owner, so that a waiter can take it over
// from a dead process. Futex waits are bounded, so that a wake-up which a dying process failed to
// send is never needed.
//
//   31        waiters   a thread may sleep on the word: the unlocker wakes one
//   30 ..  0  the owner (ProcessRef::ToShortWord); 0 with all other bits 0: unlocked
//
// The lock is never broken while its owner lives: a process that is stopped inside keeps it. If
// corruption makes the word name a process that is not inside, only that process can detect it
// (false_owner.h), by the marks of its threads. A thread is marked from before it tries to take the
// lock until it has released the lock or sleeps (invariant I14).
#ifndef HOLDFAST_SEGMENT_LOCK_WORD_H_
#define HOLDFAST_SEGMENT_LOCK_WORD_H_

#include <cstdint>

#include "platform/critical_section_mark.h"
#include "segment/host.h"
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
    return AcquireTaken(self_word, mark, host, timeout_ns);
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
  LockOutcome AcquireTaken(uint32_t self_word, platform::CriticalSectionMark& mark, Host& host,
                           uint64_t timeout_ns);
  LockOutcome AcquireSlowly(uint32_t self_word, platform::CriticalSectionMark& mark, Host& host,
                            uint64_t timeout_ns);
  void ReleaseChanged(uint32_t self_word, uint32_t seen, Host& host);

  Segment& segment_;
  Shared<uint32_t>& word_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_LOCK_WORD_H_
