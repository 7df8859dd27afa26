// Finds shards that were locked for so long that the owner is stopped, or is not inside at all
// because the lock word was damaged. Challenges the process that the word names
// (segment/false_owner.h).
#ifndef HOLDFAST_CORE_STALLED_SHARDS_H_
#define HOLDFAST_CORE_STALLED_SHARDS_H_

#include <cstdint>
#include <vector>

#include "core/lock_manager.h"

namespace holdfast::core {

class StalledShards {
 public:
  explicit StalledShards(LockManager& manager) : manager_(manager) {}

  // Samples the shards at most once per kLookEveryNs. Not thread-safe.
  void Look();

 private:
  struct Sample {
    uint32_t word = 0;
    uint64_t changes = 0;
    friend bool operator==(const Sample&, const Sample&) = default;
  };

  void Challenge(segment::ProcessRef process);

  LockManager& manager_;
  std::vector<Sample> samples_;  // of the last sample, by shard
  uint64_t next_look_ns_ = 0;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_STALLED_SHARDS_H_
