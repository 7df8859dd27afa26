#include "core/owner_challenge.h"

#include <utility>

#include "segment/false_owner.h"
#include "segment/lock_word.h"

namespace holdfast::core {

using segment::ProcessRef;

namespace {

// No running process is inside for this long. It is short enough that a false owner frees its shard
// before a warning.
constexpr uint64_t kSampleNs = 250'000'000;

}  // namespace

void OwnerChallenge::Run(const std::atomic<bool>& /*is_stopping*/) {
  const uint64_t now_ns = manager_.host().MonotonicNs();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kSampleNs;
  segment::Segment& segment = manager_.segment();
  samples_.resize(segment.geometry().shards);
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    const segment::LockWord lock(segment, shard);
    const ProcessRef owner = lock.Owner();
    const Sample sample{owner.ToShortWord(), segment.shard(shard).changes.Get()};
    const bool is_same = std::exchange(samples_[shard], sample) == sample;
    if (!is_same || owner.generation == 0) continue;
    if (owner == manager_.self()) {
      segment::DisownShards(segment, owner, manager_.host());
    } else {
      Challenge(owner);
    }
  }
}

// Any of its event loops can answer: a rescan of its records also checks the lock words. A sleeping
// loop without requests is rung like all others.
void OwnerChallenge::Challenge(ProcessRef process) {
  segment::Segment& segment = manager_.segment();
  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
    const segment::AgentRef agent = segment.AgentAt(i);
    if (agent.process != process) continue;
    segment.agent(i).rescan.Exchange(1);
    manager_.host().Ring(agent);
  }
}

}  // namespace holdfast::core
