// Challenges the owner of a shard that stays locked. The owner is stopped inside, or a corrupted
// lock word names a process that is not inside. Such a process frees the shard when it is
// challenged (segment/false_owner.h).
#ifndef HOLDFAST_CORE_OWNER_CHALLENGE_H_
#define HOLDFAST_CORE_OWNER_CHALLENGE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/background_job.h"
#include "core/lock_manager.h"

namespace holdfast::core {

class OwnerChallenge final : public BackgroundJob {
 public:
  explicit OwnerChallenge(LockManager& manager) : manager_(manager) {}

  // Samples the shards at most once per kSampleNs.
  void Run(const std::atomic<bool>& is_stopping) override;
  // The thread does not wake for the samples alone: the sweep wakes it.
  uint64_t DueNs(uint64_t /*now_ns*/) override { return kNever; }

 private:
  struct Sample {
    uint32_t word = 0;
    uint64_t changes = 0;
    friend bool operator==(const Sample&, const Sample&) = default;
  };

  void Challenge(segment::ProcessRef process);

  LockManager& manager_;
  std::vector<Sample> samples_;  // of the last sample, by shard
  uint64_t next_ns_ = 0;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_OWNER_CHALLENGE_H_
