#include "core/sweep.h"

#include <algorithm>

#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/event_list.h"

namespace holdfast::core {

using segment::ProcessRef;

namespace {

constexpr uint64_t kSweepNs = 1000 * kNsPerMs;
// The maximum number of liveness checks per sweep, of each kind. The kernel's answer takes longer
// the more processes there are, and all of them may sweep.
constexpr uint32_t kChecksPerSweep = 16;

}  // namespace

void Sweep::Run(const std::atomic<bool>& /*is_stopping*/) {
  if (!IsDue()) return;
  next_ns_ = lock_table_.host().MonotonicNs() + kSweepNs;
  peers_.CheckWatched(kChecksPerSweep);
  for (const ProcessRef process : dead_process_finder_.FindDeadProcesses(kChecksPerSweep)) {
    (void)lock_table_.Reap(process, kWorkerTimeoutNs);
  }
  segment::Segment& segment = lock_table_.segment();
  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
    const segment::AgentRef agent = segment.AgentAt(i);
    if (agent.process == lock_table_.self() && segment::HasEvents(segment.agent(i))) {
      lock_table_.host().Ring(agent);
    }
  }
}

// One sweep follows the end of the last wait, so that repeated requests do not wake the thread each
// time.
bool Sweep::IsDue() {
  if (!is_enabled_ || is_idle_.load() || lock_table_.host().MonotonicNs() < next_ns_) return false;
  if (HasAnyWaited()) return true;
  is_idle_.store(true);
  // A request that began just now may not have seen it.
  if (IsAnyWaiting()) is_idle_.store(false);
  return !is_idle_.load();
}

void Sweep::Add(Waiter& waiter) {
  const std::lock_guard<std::mutex> guard(mutex_);
  waiters_.push_back(&waiter);
}

void Sweep::Remove(Waiter& waiter) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::erase(waiters_, &waiter);
}

bool Sweep::IsAnyWaiting() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return std::any_of(waiters_.begin(), waiters_.end(),
                     [](const Waiter* waiter) { return waiter->is_waiting.load(); });
}

// Now, or since the last call.
bool Sweep::HasAnyWaited() {
  const std::lock_guard<std::mutex> guard(mutex_);
  bool has_any = false;
  for (Waiter* const waiter : waiters_) {
    has_any = waiter->is_waiting.load() || waiter->has_waited.exchange(false) || has_any;
  }
  return has_any;
}

// Counts from the last time the thread woke: Run() has read the time then.
uint64_t Sweep::DueNs(uint64_t now_ns) {
  return is_enabled_ && !is_idle_.load() ? now_ns + kSweepNs : kNever;
}

}  // namespace holdfast::core
