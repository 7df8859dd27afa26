// The fallback of the mechanisms: once a second, while a request of this process waits, it finds
// deaths that no lifeline has reported and events without a wake-up.
#ifndef HOLDFAST_CORE_SWEEP_H_
#define HOLDFAST_CORE_SWEEP_H_

#include <atomic>
#include <cstdint>

#include "core/background_job.h"
#include "core/lock_manager.h"
#include "core/peer_monitor.h"
#include "core/reaper.h"

namespace holdfast::core {

class Sweep final : public BackgroundJob {
 public:
  // Tests disable it, so that none of them passes because of it.
  Sweep(LockManager& manager, PeerMonitor& peers, Reaper& reaper, bool is_enabled)
      : manager_(manager), peers_(peers), reaper_(reaper), is_enabled_(is_enabled) {}

  // A request begins to wait. True: sweeps begin again, and the caller must wake the thread.
  bool BeginWaiting() {
    waiting_.fetch_add(1);
    if (!has_waited_.load(std::memory_order_relaxed)) has_waited_.store(true);
    return is_idle_.load() && is_idle_.exchange(false);
  }
  // Some requests no longer wait.
  void EndWaiting(uint32_t count) { waiting_.fetch_sub(count); }

  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  bool IsDue();

  LockManager& manager_;
  PeerMonitor& peers_;
  Reaper& reaper_;
  const bool is_enabled_;
  std::atomic<uint32_t> waiting_{0};
  std::atomic<bool> has_waited_{false};  // since the last sweep
  std::atomic<bool> is_idle_{false};     // there are no sweeps until a request waits
  uint64_t next_ns_ = 0;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SWEEP_H_
