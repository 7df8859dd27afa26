#include "core/near_wait.h"

#include <algorithm>

namespace holdfast::core {

void NearWait::Queued(const Ahead& ahead) {
  holder_ = ahead.holder;
  is_occasion_ = holder_ != 0;
  PublishCpu();
}

void NearWait::Heard() {
  is_occasion_ = holder_ != 0;
  PublishCpu();
}

// Only agents that have to do with others come here, so who asks for a lock that is free does not
// pay for it.
void NearWait::PublishCpu() {
  const uint32_t cpu = environment_.CurrentCpu();
  if (cpu == cpu_) return;
  cpu_ = cpu;
  self_.cpu.Set(cpu);
}

bool NearWait::IsWorthwhile() {
  is_occasion_ = false;
  if (skips_ > 0) {
    --skips_;
    return false;
  }
  PublishCpu();
  return IsHolderNear();
}

// Whoever sleeps will not release soon, unless it has just been rung. All of this is a hint: a
// wrong one costs a wait in vain, or a sleep.
bool NearWait::IsHolderNear() const {
  if (holder_ > segment_.geometry().agents) return false;
  const segment::AgentEntry& holder = segment_.agent(holder_ - 1);
  const uint32_t sleep = holder.sleeping.Get();
  const bool is_awake = sleep == 0 || (sleep & segment::kRung) != 0;
  const uint32_t cpu = holder.cpu.Get();
  return is_awake && cpu != 0 && cpu_ != 0 && cpu != cpu_;
}

bool NearWait::Paid() {
  failures_ = 0;
  return true;
}

bool NearWait::Failed() {
  failures_ = std::min(failures_ + 1, kMostFailures);
  skips_ = (1U << failures_) - 1;
  return false;
}

}  // namespace holdfast::core
