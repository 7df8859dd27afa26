// Finds dead processes that no peer has reaped yet.
#ifndef HOLDFAST_CORE_DEAD_PROCESS_FINDER_H_
#define HOLDFAST_CORE_DEAD_PROCESS_FINDER_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/lock_table.h"

namespace holdfast::core {

class DeadProcessFinder {
 public:
  // The maximum number of liveness checks of a process that attaches or has found a death. The
  // kernel's answer takes longer the more processes there are, and each of them may check.
  static constexpr uint32_t kMaxChecks = 128;

  explicit DeadProcessFinder(LockTable& lock_table) : lock_table_(lock_table) {}

  // The dead among the next slots that are in use; at most `max_checks` are checked. Continues
  // where the last call ended. Any thread.
  std::vector<segment::ProcessRef> FindDeadProcesses(uint32_t max_checks);

 private:
  LockTable& lock_table_;
  std::atomic<uint32_t> next_slot_{0};
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_DEAD_PROCESS_FINDER_H_
