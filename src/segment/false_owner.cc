#include "segment/false_owner.h"

#include "platform/critical_section_mark.h"
#include "segment/lock_word.h"

namespace holdfast::segment {
namespace {

// If threads enter and leave all the time, it may take several scans to find a moment with all of
// them outside.
constexpr int kLooks = 1000;

// Reads the word while no thread of this process is inside; 0: there was no such moment.
//
// Could a thread of this process that is inside have stored it? Its mark was stored before the
// word, so a reader of the word finds the mark in the second scan. Then the same entry must have
// been over in the first scan; but then the word was cleared before it was read.
uint32_t ReadWhileNobodyIsInside(platform::CriticalSectionScan& scan,
                                 const Shared<uint32_t>& word) {
  for (int look = 0; look < kLooks; ++look) {
    if (!scan.IsNobodyInside()) continue;
    const uint32_t seen = word.Acquire();
    if (scan.HasNobodyEntered()) return seen;
  }
  return 0;
}

void Disown(Segment& segment, uint32_t shard, ProcessRef self, Host& host) {
  ShardHeader& header = segment.shard(shard);
  const LockWord lock(segment, shard);
  platform::CriticalSectionScan scan;
  uint32_t seen = ReadWhileNobodyIsInside(scan, header.lock_word);
  if (lock.OwnerOf(seen) != self) return;
  // From here on it stays false: a thread of this process takes the lock only from 0, and no peer
  // takes it from a live process. A death before the next store: a peer takes over and repairs.
  header.dirty.Set(1);
  while (!header.lock_word.CompareExchange(seen, 0)) {
    if (lock.OwnerOf(seen) != self) return;  // more than the waiters bit: corrupted once more
  }
  host.FutexWake(header.lock_word.atomic());
}

}  // namespace

void DisownShards(Segment& segment, ProcessRef self, Host& host) {
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    if (LockWord(segment, shard).Owner() == self) Disown(segment, shard, self, host);
  }
}

}  // namespace holdfast::segment
