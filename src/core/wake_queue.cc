#include "core/wake_queue.h"

#include <algorithm>
#include <utility>

#include "segment/event_list.h"
#include "segment/watch_ring.h"

namespace holdfast::core {

void WakeQueue::Add(uint16_t agent) {
  const auto end = agents_.begin() + count_;
  if (std::find(agents_.begin(), end, agent) != end) return;
  if (count_ == kMax) return AddToMany(agent);
  agents_[count_++] = agent;
}

void WakeQueue::AddToMany(uint32_t agent) {
  if (!std::exchange(has_many_, true)) many_.fill(0);
  if (agent < segment::kMaxAgents) many_[agent / kBits] |= uint64_t{1} << agent % kBits;
}

[[gnu::cold]] void WakeQueue::AddRescan(uint16_t agent) {
  if (segment_.agent(agent).owner.Get() == 0) return;
  has_death_ = true;
  segment_.agent(agent).rescan.Exchange(1);
  Add(agent);
}

// Events are linked inside the shards, and a watcher has none (RingArmed).
[[gnu::cold]] void WakeQueue::AddUnrung() {
  has_death_ = true;
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const segment::AgentEntry& agent = segment_.agent(i);
    const bool is_concerned = segment::HasEvents(agent) || agent.watching.Get() != 0;
    if (agent.owner.Get() != 0 && is_concerned) Add(static_cast<uint16_t>(i));
  }
}

[[gnu::cold]] void WakeQueue::RingToRescan(uint16_t agent) {
  if (agent >= segment_.geometry().agents) return;
  segment_.agent(agent).rescan.Exchange(1);
  Ring(agent);
}

void WakeQueue::WakeNoted() {
  for (uint32_t i = 0; i < count_; ++i) Ring(agents_[i]);
  for (uint32_t i = 0; has_many_ && i < segment::kMaxAgents; ++i) {
    if ((many_[i / kBits] >> i % kBits & 1) != 0) Ring(i);
  }
  has_many_ = false;
  has_death_ = false;
  count_ = 0;
  if (has_next_) Prewake();
  has_next_ = false;
}

void WakeQueue::RingArmed() {
  const uint32_t armed = segment::WatchRegistry(segment_).TakeArmed();
  if (armed == 0) return;
  if (armed != segment::kAllArmed) return RingWatcher(armed - 1);
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    if (segment_.agent(i).watching.Get() != 0) RingWatcher(i);
  }
}

// After the others, which have a lock already.
void WakeQueue::Prewake() {
  if (next_ == next_holder_ || next_ >= segment_.geometry().agents) return;
  segment::AgentEntry& agent = segment_.agent(next_);
  if (agent.prewake.Get() != segment::kPrewakeWanted) return;
  agent.prewake.Set(next_holder_ + 1U);
  Ring(next_);
}

// A load of `sleeping` is enough. Four accesses are sequentially consistent: the read-modify-write
// that stored the event, this load, the agent's store of `sleeping`, and the agent's load of events
// (HasEvents). In their one order, either the agent's load follows the event, or this load reads
// that the agent sleeps. A read-modify-write would take the line from an agent that polls it.
void WakeQueue::Ring(uint32_t index) {
  if (index >= segment_.geometry().agents) return;
  RingAsleep(index, segment_.agent(index).sleeping.LoadSeqCst());
}

// Watch events are ordinary stores.
void WakeQueue::RingWatcher(uint32_t index) {
  if (index >= segment_.geometry().agents) return;
  RingAsleep(index, segment_.agent(index).sleeping.LoadRmw());
}

void WakeQueue::RingAsleep(uint32_t index, uint32_t sleep) {
  segment::AgentEntry& agent = segment_.agent(index);
  if (agent.owner.Get() == 0) return;
  const bool is_unrung = sleep != 0 && (sleep & segment::kRung) == 0;
  if (!is_unrung && !has_death_) return;
  const bool is_rung = host_.Ring(segment_.AgentAt(index));
  // After the ring: if this thread dies before it, a peer still rings. Only for this sleep. A ring
  // that failed, for want of a descriptor, leaves the agent to the next process that rings it.
  if (is_unrung && is_rung) agent.sleeping.CompareExchange(sleep, sleep | segment::kRung);
}

}  // namespace holdfast::core
