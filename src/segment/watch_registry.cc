#include "segment/watch_registry.h"

#include <utility>
#include <vector>

#include "segment/kept_record.h"

namespace holdfast::segment {

void WatchRegistry::Add(const AgentRef& agent) {
  segment_.agent(agent.index).watching.Exchange(agent.generation);
  for (uint32_t i = 0; i < segment_.geometry().shards; ++i) {
    Shared<uint32_t>& watched = segment_.shard(i).watched;
    uint32_t seen = watched.LoadSeqCst();
    while (!watched.CompareExchange(seen, (seen | 1) + (seen & 1) * 2)) {
    }
    // Changes without the shard lock are not in the ring.
    CloseKept(segment_, agent.index, i);
  }
}

void WatchRegistry::Remove(const AgentRef& agent) {
  uint32_t generation = agent.generation;
  segment_.agent(agent.index).watching.CompareExchange(generation, 0);
  std::vector<std::pair<uint32_t, uint32_t>> watched_shards;
  for (uint32_t i = 0; i < segment_.geometry().shards; ++i) {
    const uint32_t seen = segment_.shard(i).watched.LoadSeqCst();
    if ((seen & 1) != 0) watched_shards.emplace_back(i, seen);
  }
  if (watched_shards.empty() || IsAnybodyThere()) return;
  for (auto [shard, seen] : watched_shards) {
    segment_.shard(shard).watched.CompareExchange(seen, seen + 1);
  }
}

void WatchRegistry::Arm(const AgentRef& agent) {
  const uint32_t own = agent.index + 1U;
  uint32_t seen = segment_.header().watch_armed.Get();
  while (!segment_.header().watch_armed.CompareExchange(
      seen, seen == 0 || seen == own ? own : kAllArmed)) {
  }
}

bool WatchRegistry::IsArmed(const AgentRef& agent) const {
  const uint32_t armed = segment_.header().watch_armed.LoadSeqCst();
  return armed == agent.index + 1U || armed == kAllArmed;
}

uint32_t WatchRegistry::TakeArmed() {
  Shared<uint32_t>& armed = segment_.header().watch_armed;
  return armed.Get() == 0 ? 0 : armed.Exchange(0);
}

bool WatchRegistry::IsAnybodyThere() const {
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const AgentEntry& entry = segment_.agent(i);
    const uint32_t watching = entry.watching.LoadSeqCst();
    const bool is_bearer = watching != 0 && watching == entry.generation.LoadSeqCst();
    if (is_bearer && entry.owner.LoadSeqCst() != 0) return true;
  }
  return false;
}

}  // namespace holdfast::segment
