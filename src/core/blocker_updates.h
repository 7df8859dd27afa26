// Finds the current blockers of waiting requests, and has their deaths and hold limits watched.
#ifndef HOLDFAST_CORE_BLOCKER_UPDATES_H_
#define HOLDFAST_CORE_BLOCKER_UPDATES_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/background_job.h"
#include "core/hold_limit_enforcer.h"
#include "core/lock_manager.h"
#include "core/peer_monitor.h"

namespace holdfast::core {

class BlockerUpdates final : public BackgroundJob {
 public:
  BlockerUpdates(LockManager& manager, PeerMonitor& peers, HoldLimitEnforcer& hold_limits)
      : manager_(manager), peers_(peers), hold_limits_(hold_limits) {}

  // The blockers of these waiting requests may have changed. Any thread.
  void Add(std::span<const RecordRef> records);

  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  LockManager& manager_;
  PeerMonitor& peers_;
  HoldLimitEnforcer& hold_limits_;
  std::mutex mutex_;
  std::vector<RecordRef> records_;  // guarded by mutex_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BLOCKER_UPDATES_H_
