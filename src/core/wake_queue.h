// Agents that have to hear something. They are noted inside the shard lock and rung outside of it,
// when this object ends: declare it before the ShardLock.
#ifndef HOLDFAST_CORE_WAKE_QUEUE_H_
#define HOLDFAST_CORE_WAKE_QUEUE_H_

#include <array>
#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

class WakeQueue {
 public:
  // Without many_, which would take longest.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  WakeQueue(segment::Segment& segment, segment::Host& host) : segment_(segment), host_(host) {}
  WakeQueue(const WakeQueue&) = delete;
  WakeQueue& operator=(const WakeQueue&) = delete;
  ~WakeQueue() { WakeAll(); }

  void Add(uint16_t agent);
  // `agent` comes next, after `holder`, which has the lock now: it may want to be awake by then.
  void AddNext(uint16_t agent, uint16_t holder) {
    next_ = agent;
    next_holder_ = holder;
    has_next_ = true;
  }
  // Everybody alive reads all its records again: somebody died, and may have owed them events.
  void AddRescanOfAll();
  // At once, also inside a shard: this agent reads all its records again, as soon as it can enter.
  void RingToRescan(uint16_t agent);
  segment::Host& host() const { return host_; }
  // Rings who sleeps. An agent that is awake looks at its events before it goes to sleep.
  void WakeAll();

 private:
  void Ring(uint32_t agent);
  void Prewake();
  void RingWatchers();

  void AddToMany(uint32_t agent);

  static constexpr uint32_t kMax = 16;
  static constexpr uint32_t kBits = 64;
  segment::Segment& segment_;
  segment::Host& host_;
  std::array<uint16_t, kMax> agents_{};
  uint32_t count_ = 0;
  bool has_many_ = false;
  // Bit by bit all of them, when they are more than fit above; nothing before.
  std::array<uint64_t, segment::kMaxAgents / kBits> many_;
  uint16_t next_ = 0;
  uint16_t next_holder_ = 0;
  bool has_next_ = false;
  bool all_ = false;
  bool somebody_died_ = false;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_WAKE_QUEUE_H_
