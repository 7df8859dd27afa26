// The watch ring: lock events for watchers (invariant I13). A lossy ring without a lock. Each
// watcher has its own position; writers overtake a slow one.
//
// A writer is inside the shard of its event, so the entries of one name are in the order of the
// events. A number is taken before its event is committed, and the slot is filled after that. A
// death in between leaves a number without an entry, which readers count as lost.
//
// Readers trust an entry only if its checksum matches. A writer that was stopped in between, and
// continues a whole round later, corrupts one entry, which then also counts as lost.
#ifndef HOLDFAST_SEGMENT_WATCH_RING_H_
#define HOLDFAST_SEGMENT_WATCH_RING_H_

#include <cstdint>
#include <string>

#include "segment/host.h"
#include "segment/segment.h"
#include "segment/shard_view.h"

namespace holdfast::segment {

enum class LockEvent : uint8_t {
  kQueued = 1,
  kGranted,
  kReleased,
  kAborted,
  kTimedOut,
  kStolen,
  kExpired,
  kDied,
};

// Events that matter even if no watcher reads every request: written for paused watchers, too. Each
// of these events costs its process far more than an entry.
constexpr bool IsIncident(LockEvent event) {
  return event == LockEvent::kTimedOut || event == LockEvent::kStolen ||
         event == LockEvent::kExpired || event == LockEvent::kDied;
}

// One event that is about to happen in this shard. In a table that was never watched it costs one
// read of the shard.
class WatchRingWriter {
 public:
  // `may_be_incident`: whether Write() may be called with an event that IsIncident().
  WatchRingWriter(const ShardView& shard, bool may_be_incident)
      : shard_(shard), number_(IsWanted(shard, may_be_incident) ? TakeNumber() : kNone) {}

  // To be called after the event was committed. The request may be free by now, but not reused.
  void Write(Host& host, LockEvent event, const RequestCell& request, const NameCell& name) const {
    if (number_ != kNone) Fill(host, event, request, name);
  }

 private:
  static constexpr uint64_t kNone = 0;

  static bool IsWanted(const ShardView& shard, bool may_be_incident) {
    const uint32_t watched = shard.header().watched.Get();
    if (watched == 0) return false;
    return ((watched & 1) != 0 || may_be_incident) && shard.segment().HasWatchRing();
  }
  uint64_t TakeNumber() const;
  void Fill(Host& host, LockEvent event, const RequestCell& request, const NameCell& name) const;

  ShardView shard_;
  const uint64_t number_;
};

class WatchRing {
 public:
  explicit WatchRing(Segment& segment) : segment_(segment) {}

  // The newest number taken.
  uint64_t Last() const { return segment_.header().last_entry.Acquire(); }

  enum class Found {
    kNothing,   // not written yet, or never, or overwritten
    kNameless,  // the name was overwritten
    kEntry,
  };
  Found Read(uint64_t number, WatchRingEntry& entry, std::u16string& name) const;

 private:
  Segment& segment_;
};

// The readers of the watch ring, so that it is written only while there is one (invariant I12).
//
// The source of truth is `watching` in the agent entries, which ends with its agent. The fast path
// reads `watched` of its shard, in the cache line of the shard's lock. A watcher raises it when it
// begins, and the last watcher raises it again when it ends. It only rises, so that an end cannot
// undo a concurrent beginning. A beginning stores `watching`, then raises `watched`. An end reads
// `watched`, then every `watching`, and raises only the value that it has read. Either the end sees
// the new watcher, or its compare-and-swap fails.
//
// A watcher that has read everything sleeps until it is rung. It arms: it stores itself in
// `watch_armed` of the header, one word for all, then reads once more. A writer fills its slot,
// then reads that word by a read-modify-write. One of the two accesses to the word comes first:
// either the writer finds the watcher there, or the watcher's next read finds the event. Outside of
// the shard, the writer that takes the word rings; other writers need not. If a writer dies in
// between, its reaper rings every agent.
//
// A reader that is not among the watchers still finds incidents (IsIncident). Incidents are written
// where `watched` is not zero, so in every table that was ever watched.
class WatchRegistry {
 public:
  explicit WatchRegistry(Segment& segment) : segment_(segment) {}

  // Events after the return of this call are in the watch ring. After a death inside, the reaper
  // cleans up.
  void Add(const AgentRef& agent);
  // Also for an agent that does not watch, or has ended. A death inside leaves shards that count as
  // watched without a watcher, which the next Remove() corrects.
  void Remove(const AgentRef& agent);

  // The next event rings this agent, once.
  void Arm(const AgentRef& agent);
  // Whether that ring is still to come.
  bool IsArmed(const AgentRef& agent) const;
  // The agent to ring after an event was written: 0 for none, 1 + the index of the agent, or
  // kAllArmed. Only one caller gets it.
  uint32_t TakeArmed();

 private:
  bool HasWatchers() const;

  Segment& segment_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_WATCH_RING_H_
