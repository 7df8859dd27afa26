// Finds dead processes that no peer has reaped yet.
#ifndef HOLDFAST_CORE_REAPER_H_
#define HOLDFAST_CORE_REAPER_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/lock_manager.h"

namespace holdfast::core {

class Reaper {
 public:
  // The maximum number of liveness checks of a process that attaches or has found a death. The
  // kernel's answer takes longer the more processes there are, and all of them may ask.
  static constexpr uint32_t kMaxChecks = 128;

  explicit Reaper(LockManager& manager) : manager_(manager) {}

  // The dead among the next slots that are in use; at most `max_checks` are checked. Continues
  // where the last call ended. Any thread.
  std::vector<segment::ProcessRef> FindDeadProcesses(uint32_t max_checks);

 private:
  LockManager& manager_;
  std::atomic<uint32_t> next_slot_{0};
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_REAPER_H_
