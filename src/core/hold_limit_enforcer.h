// Expires locks whose hold limit has passed, for the requests of this process.
#ifndef HOLDFAST_CORE_HOLD_LIMIT_ENFORCER_H_
#define HOLDFAST_CORE_HOLD_LIMIT_ENFORCER_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/background_job.h"
#include "core/hold_limit_timers.h"
#include "core/lock_manager.h"

namespace holdfast::core {

class HoldLimitEnforcer final : public BackgroundJob {
 public:
  explicit HoldLimitEnforcer(LockManager& manager) : manager_(manager) {}

  // Checks the hold limits that concern a request from `due_ns` on (MonotonicNs). Any thread.
  void Add(const RecordRef& record, uint64_t due_ns);
  // The request has ended. Any thread.
  void Remove(const RecordRef& record);

  // Any thread.
  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  LockManager& manager_;
  std::mutex mutex_;
  HoldLimitTimers timers_;  // guarded by mutex_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_HOLD_LIMIT_ENFORCER_H_
