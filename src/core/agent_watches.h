// The readers of the watch ring of one agent, by number. While a reader exists, its process notices
// every death, so that a death becomes an event. The agent is among the watchers while at least one
// reader is not paused.
#ifndef HOLDFAST_CORE_AGENT_WATCHES_H_
#define HOLDFAST_CORE_AGENT_WATCHES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/attachment.h"
#include "platform/result.h"
#include "segment/watch_ring.h"

namespace holdfast::core {

struct WatchedEvent {
  segment::WatchRingEntry entry{};
  std::u16string name;
  uint64_t lost = 0;  // events of any name that this watcher missed just before this one
};

// One watcher's position in the watch ring. Reads the available entries; never waits.
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
  uint64_t lost_reported_ = 0;  // of these
  uint64_t gap_end_ = 0;        // of numbers up to here ...
  uint64_t gap_since_ns_ = 0;   // ... one was missed then
};

class AgentWatches {
 public:
  AgentWatches(Attachment& attachment, const segment::AgentRef& agent)
      : attachment_(attachment), agent_(agent) {}

  // The watch has the events after this returns. Without a name: of all names.
  // Errors: kNoSpace: there is no room for the watch ring.
  Result<uint32_t> Open(std::optional<std::u16string> name);
  // Appends at most `max` events; none if the watch is not open.
  void Read(uint32_t id, size_t max, std::vector<WatchedEvent>& events);
  // A paused watch finds incidents only (segment::IsIncident), and should not be armed: every
  // operation rings an armed agent.
  void SetPaused(uint32_t id, bool is_paused);
  void Close(uint32_t id);
  bool IsAnyOpen() const { return !readers_.empty(); }

  // The next event rings the doorbell of this agent, once. True: one is being written just now, and
  // need not ring.
  bool Arm(uint32_t id);
  // Whether an event has come since, and is not reported yet.
  bool HasNews() const;
  void ReportEnd() { is_armed_ = false; }
  bool is_armed() const { return is_armed_; }

 private:
  bool IsAnyActive() const;
  void FollowLives();
  void FollowLife(segment::ProcessRef process);

  Attachment& attachment_;
  const segment::AgentRef agent_;
  std::map<uint32_t, WatchRingReader> readers_;
  uint32_t last_id_ = 0;
  bool is_armed_ = false;
  std::vector<uint32_t> followed_;  // the generation whose death is noticed, by process slot
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_AGENT_WATCHES_H_
