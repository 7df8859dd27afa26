// The fallback of the mechanisms, once a second, while a request of this process waits. The sweep
// finds deaths that no lifeline has reported and events without a wake-up.
#ifndef HOLDFAST_CORE_SWEEP_H_
#define HOLDFAST_CORE_SWEEP_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/background_job.h"
#include "core/dead_process_finder.h"
#include "core/lock_table.h"
#include "core/peer_monitor.h"

namespace holdfast::core {

// Whether a thread waits. In a separate cache line: threads that hand a lock to each other change
// it at each hand-off.
struct alignas(64) Waiter {
  std::atomic<bool> is_waiting{false};
  std::atomic<bool> has_waited{false};  // since the last sweep
};

class Sweep final : public BackgroundJob {
 public:
  // Tests disable it, so that none of them passes because of it.
  Sweep(LockTable& lock_table, PeerMonitor& peers, DeadProcessFinder& finder, bool is_enabled)
      : lock_table_(lock_table),
        peers_(peers),
        dead_process_finder_(finder),
        is_enabled_(is_enabled) {}

  // Between these two calls the waits of a waiter count.
  void Add(Waiter& waiter);
  void Remove(Waiter& waiter);
  // A waiter begins to wait. True: sweeps begin again, and the caller must wake the thread.
  bool BeginWaiting(Waiter& waiter) {
    waiter.is_waiting.store(true);  // before the load of is_idle_, see IsDue()
    if (!waiter.has_waited.load(std::memory_order_relaxed)) {
      waiter.has_waited.store(true, std::memory_order_relaxed);
    }
    return is_idle_.load() && is_idle_.exchange(false);
  }

  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  bool IsDue();
  bool IsAnyWaiting();
  bool HasAnyWaited();

  LockTable& lock_table_;
  PeerMonitor& peers_;
  DeadProcessFinder& dead_process_finder_;
  const bool is_enabled_;
  std::mutex mutex_;
  std::vector<Waiter*> waiters_;      // guarded by mutex_
  std::atomic<bool> is_idle_{false};  // there are no sweeps until a request waits
  uint64_t next_ns_ = 0;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SWEEP_H_
