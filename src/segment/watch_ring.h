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

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_WATCH_RING_H_
