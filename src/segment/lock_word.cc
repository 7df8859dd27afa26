#include "segment/lock_word.h"

#include <algorithm>

#include "platform/critical_section_mark.h"
#include "platform/thread.h"

namespace holdfast::segment {

namespace {

// A critical section takes well under a microsecond: this spins for a few of them.
constexpr int kSpins = 100;
// Short, so that a lost wake-up costs little; long, so that liveness checks are rare.
constexpr uint64_t kSliceNs = 500'000;

}  // namespace

ProcessRef LockWord::OwnerOf(uint32_t word) const {
  return segment_.FromShortWord(word & ~kWaiters);
}

LockOutcome LockWord::AcquireHeld(uint32_t self_word, platform::CriticalSectionMark& mark,
                                  Host& host, uint64_t timeout_ns) {
  for (int i = 0; i < kSpins; ++i) {
    platform::Pause();
    if (word_.Get() == 0 && TryTake(self_word)) return LockOutcome::kAcquired;
  }
  return AcquireSlowly(self_word, mark, host, timeout_ns);
}

LockOutcome LockWord::AcquireSlowly(uint32_t self_word, platform::CriticalSectionMark& mark,
                                    Host& host, uint64_t timeout_ns) {
  const uint64_t start = host.MonotonicNs();
  // A thread that has slept takes the lock with the waiters bit: others may still sleep.
  const uint32_t taken = self_word | kWaiters;
  for (;;) {
    uint32_t seen = word_.Get();
    if (seen == 0) {
      if (TryTake(taken)) return LockOutcome::kAcquired;
      continue;
    }
    if (timeout_ns == 0) return LockOutcome::kTimedOut;  // taking over means to repair
    const ProcessRef owner = OwnerOf(seen);
    if (owner.generation == 0 || !host.IsAlive(owner)) {
      // Only this compare-and-swap decides which waiter takes over.
      if (word_.CompareExchange(seen, taken)) return LockOutcome::kOwnerDied;
      continue;
    }
    const uint64_t waited = host.MonotonicNs() - start;
    if (waited >= timeout_ns) return LockOutcome::kTimedOut;
    if ((seen & kWaiters) == 0 && !word_.CompareExchange(seen, seen | kWaiters)) continue;
    mark.Leave();
    host.FutexWait(word_.atomic(), seen | kWaiters, std::min(kSliceNs, timeout_ns - waited));
    mark.Enter();
  }
}

// There are waiters, or corruption: a word that names another process must not be cleared.
void LockWord::ReleaseChanged(uint32_t self_word, uint32_t seen, Host& host) {
  if ((seen & ~kWaiters) != self_word) return;
  word_.Exchange(0);
  host.FutexWake(word_.atomic());
}

namespace {

// If threads enter and leave all the time, it may take several scans to find a moment with all of
// them outside.
constexpr int kMaxScans = 1000;

// Reads the word while no thread of this process is inside; 0: there was no such moment.
//
// Could a thread of this process that is inside have stored it? Its mark was stored before the
// word, so a reader of the word finds the mark in the second scan. Then the same entry must have
// been over in the first scan; but then the word was cleared before it was read.
[[gnu::cold]] uint32_t ReadWhileNoThreadIsInside(platform::CriticalSectionScan& scan,
                                                 const Shared<uint32_t>& word) {
  for (int scans = 0; scans < kMaxScans; ++scans) {
    if (!scan.IsNoThreadInside()) continue;
    const uint32_t seen = word.Acquire();
    if (scan.HasNoThreadEntered()) return seen;
  }
  return 0;
}

[[gnu::cold]] void Disown(Segment& segment, uint32_t shard, ProcessRef self, Host& host) {
  ShardHeader& header = segment.shard(shard);
  const LockWord lock(segment, shard);
  platform::CriticalSectionScan scan;
  uint32_t seen = ReadWhileNoThreadIsInside(scan, header.lock_word);
  if (lock.OwnerOf(seen) != self) return;
  // From here on it stays false: a thread of this process takes the lock only from 0, and no peer
  // from a live process. A death before the next store: a peer takes over and repairs.
  header.dirty.Set(1);
  while (!header.lock_word.CompareExchange(seen, 0)) {
    if (lock.OwnerOf(seen) != self) return;  // more than the waiters bit: corrupted once more
  }
  host.FutexWake(header.lock_word.atomic());
}

}  // namespace

[[gnu::cold]] void DisownShards(Segment& segment, ProcessRef self, Host& host) {
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    if (LockWord(segment, shard).Owner() == self) Disown(segment, shard, self, host);
  }
}

}  // namespace holdfast::segment
