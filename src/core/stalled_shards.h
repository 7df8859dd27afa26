// Shards that somebody has been inside for so long that it is stopped, or is not there at all: the
// lock word may have been damaged. The process that it names is asked (segment/false_owner.h).
#ifndef HOLDFAST_CORE_STALLED_SHARDS_H_
#define HOLDFAST_CORE_STALLED_SHARDS_H_

#include <cstdint>
#include <vector>

#include "core/lock_manager.h"

namespace holdfast::core {

class StalledShards {
 public:
  explicit StalledShards(LockManager& manager) : manager_(manager) {}

  // Looks when the last look is a while ago. By one thread.
  void Look();

 private:
  struct Sample {
    uint32_t word = 0;
    uint64_t changes = 0;
    friend bool operator==(const Sample&, const Sample&) = default;
  };

  void Challenge(segment::ProcessRef process);

  LockManager& manager_;
  std::vector<Sample> samples_;  // of the last look, by shard
  uint64_t next_look_ns_ = 0;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_STALLED_SHARDS_H_
