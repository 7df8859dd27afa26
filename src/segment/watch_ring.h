// The watch ring: what happens to locks, for whoever watches (invariant I13). A ring that nobody
// locks and nobody reads from but watchers, each with a place of its own: a slow one is overtaken.
//
// Writers are inside the shard of what they tell of, so the entries of one name are in the order in
// which it happened. A number is taken before its event is committed and the slot filled after
// that: who dies in between leaves a number without an entry, which readers count as lost.
//
// Nothing is trusted that its check does not confirm. Whoever was stopped while it wrote, and goes
// on a whole round later, damages one entry, which then counts as lost, too.
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

// One event that is about to happen in this shard. Costs a look at the shard where nobody watches.
class WatchRingWriter {
 public:
  explicit WatchRingWriter(const ShardView& shard)
      : shard_(shard), number_(IsWatched(shard) ? TakeNumber() : kNone) {}

  // After it was committed. The request may be free by now, but not used again.
  void Write(Host& host, LockEvent event, const RequestCell& request, const NameCell& name) const {
    if (number_ != kNone) Fill(host, event, request, name);
  }

 private:
  static constexpr uint64_t kNone = 0;

  static bool IsWatched(const ShardView& shard) {
    return (shard.header().watched.Get() & 1) != 0 && shard.segment().HasWatchRing();
  }
  uint64_t TakeNumber() const;
  void Fill(Host& host, LockEvent event, const RequestCell& request, const NameCell& name) const;

  ShardView shard_;
  const uint64_t number_;
};

class WatchRing {
 public:
  explicit WatchRing(const Segment& segment) : segment_(segment) {}

  // The newest number that somebody has taken.
  uint64_t Last() const { return segment_.header().last_entry.Acquire(); }

  enum class Found {
    kNothing,   // not written yet, or never, or overwritten
    kNameless,  // the name was overwritten
    kEntry,
  };
  Found Read(uint64_t number, WatchRingEntry& entry, std::u16string& name) const;

 private:
  const Segment& segment_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_WATCH_RING_H_
