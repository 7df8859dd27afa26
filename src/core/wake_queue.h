// Agents to wake. They are noted inside the shard lock and rung after it is released, when this
// object ends: declare it before the ShardLock.
#ifndef HOLDFAST_CORE_WAKE_QUEUE_H_
#define HOLDFAST_CORE_WAKE_QUEUE_H_

#include <array>
#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

class WakeQueue {
 public:
  // many_ is not initialised, which would take most of the time.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  WakeQueue(segment::Segment& segment, segment::Host& host) : segment_(segment), host_(host) {}
  WakeQueue(const WakeQueue&) = delete;
  WakeQueue& operator=(const WakeQueue&) = delete;
  ~WakeQueue() { WakeAll(); }

  void Add(uint16_t agent);
  // `agent` is next after `holder`, which has the lock now. It may be woken early (prewake).
  void AddNext(uint16_t agent, uint16_t holder) {
    next_ = agent;
    next_holder_ = holder;
    has_next_ = true;
  }
  // A process died inside the shard, maybe before it linked an event: the agent rescans.
  void AddRescan(uint16_t agent);
  // A process died outside of all shards, maybe before it rang: the agents that have events.
  void AddUnrung();
  // At once, also inside a shard: for an event that must not depend on the life of this process.
  void RingNow(uint16_t agent) { Ring(agent); }
  // At once, also inside a shard: this agent rescans as soon as it can enter.
  void RingToRescan(uint16_t agent);
  segment::Host& host() const { return host_; }
  // Rings the agents that sleep. An awake agent checks its events before it sleeps.
  void WakeAll() {
    if (count_ != 0 || has_next_) WakeNoted();
    RingWatchers();
  }

 private:
  void WakeNoted();
  void Ring(uint32_t agent);
  void RingWatcher(uint32_t agent);
  void RingAsleep(uint32_t agent, uint32_t sleep);
  void Prewake();
  // Reads one word, which is not written while no agent watches.
  void RingWatchers() {
    if (segment_.header().watch_armed.Get() != 0) RingArmed();
  }
  void RingArmed();

  void AddToMany(uint32_t agent);

  static constexpr uint32_t kMax = 16;
  static constexpr uint32_t kBits = 64;
  segment::Segment& segment_;
  segment::Host& host_;
  std::array<uint16_t, kMax> agents_{};
  uint32_t count_ = 0;
  bool has_many_ = false;
  // One bit per agent, if there are more than fit above; empty before.
  std::array<uint64_t, segment::kMaxAgents / kBits> many_;
  uint16_t next_ = 0;
  uint16_t next_holder_ = 0;
  bool has_next_ = false;
  bool has_death_ = false;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_WAKE_QUEUE_H_
