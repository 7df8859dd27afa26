#include "core/hold_limit_enforcer.h"

#include "core/hold_limits.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"

namespace holdfast::core {

namespace {

// A busy shard extends a lock's limit by this time.
constexpr uint64_t kBusyNs = 5 * kNsPerMs;

}  // namespace

void HoldLimitEnforcer::Add(const RecordRef& record, uint64_t due_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  timers_.Add(record, due_ns);
}

void HoldLimitEnforcer::Remove(const RecordRef& record) {
  const std::lock_guard<std::mutex> guard(mutex_);
  timers_.Remove(record);
}

// Expires one lock per visit, so that peers can use the shard in between.
void HoldLimitEnforcer::Run(const std::atomic<bool>& is_stopping) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t now_ns = manager_.host().MonotonicNs();
  while (timers_.NextDueNs() <= now_ns && !is_stopping.load()) {
    HoldLimitTimers::Task task = timers_.First();
    lock.unlock();
    const Result<uint64_t> next_ns =
        EnforceHoldLimits(manager_, task.record, task.first_seen, kWorkerTimeoutNs);
    lock.lock();
    const bool is_busy = next_ns.status().code() == StatusCode::kBusy;
    timers_.Update(task, next_ns.ok() ? *next_ns : is_busy ? now_ns + kBusyNs : 0);
  }
}

uint64_t HoldLimitEnforcer::DueNs(uint64_t /*now_ns*/) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return timers_.NextDueNs();
}

}  // namespace holdfast::core
