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
#include "core/watch_ring_reader.h"
#include "platform/result.h"

namespace holdfast::core {

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
  void Told() { is_armed_ = false; }
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
