// One watcher's position in the watch ring. Reads the available entries; never waits.
#ifndef HOLDFAST_CORE_WATCH_RING_READER_H_
#define HOLDFAST_CORE_WATCH_RING_READER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "segment/watch_ring.h"

namespace holdfast::core {

struct WatchedEvent {
  segment::WatchRingEntry entry{};
  std::u16string name;
  uint64_t lost = 0;  // events of any name that this watcher missed just before this one
};

class WatchRingReader {
 public:
  // Begins with the events from now on, of one name or of all.
  WatchRingReader(segment::Segment& segment, std::optional<std::u16string> name);

  // The next event, if there is one; passes over at most a round of the watch ring.
  std::optional<WatchedEvent> Next(uint64_t now_ns);
  // Passes over all but incidents (segment::IsIncident).
  void SetPaused(bool is_paused) { is_paused_ = is_paused; }
  bool is_paused() const { return is_paused_; }
  // The number of entries that it has missed so far, reported with an event or not yet.
  uint64_t lost() const { return lost_; }
  // Whether a number was taken whose entry is not read yet.
  bool IsBehind() const { return watch_ring_.Last() + 1 != next_; }

 private:
  // False: no entry is available now.
  bool Step(uint64_t now_ns, WatchedEvent& event);
  void Skip();
  bool IsPatienceOver(uint64_t now_ns);
  bool IsOfInterest(const WatchedEvent& event) const;

  segment::WatchRing watch_ring_;
  const uint64_t slots_;
  std::optional<std::u16string> name_;  // as long as the watch ring keeps it
  bool is_paused_ = false;
  uint64_t next_;
  uint64_t lost_ = 0;
  uint64_t lost_told_ = 0;     // of these
  uint64_t gap_end_ = 0;       // of numbers up to here ...
  uint64_t gap_since_ns_ = 0;  // ... one was missed then
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_WATCH_RING_READER_H_
