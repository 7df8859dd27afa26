#include "core/adaptive_spin.h"

#include <algorithm>

namespace holdfast::core {

void AdaptiveSpin::Queued(const Blocker& blocker) {
  Arm(blocker.holder);
  PublishCpu();
}

void AdaptiveSpin::OnEvents() {
  if (was_prewoken_) Paid();
  Arm(holder_);
  PublishCpu();
}

// It was woken early and still has to sleep: the prewake was useless.
void AdaptiveSpin::FallingAsleep() {
  if (was_prewoken_) Failed();
  self_.prewake.Set(is_skipped_ ? 0 : segment::kPrewakeWanted);
}

// A peer that wakes it one hand-off early has stored the agent whose turn is first.
void AdaptiveSpin::Woken() {
  const uint32_t ring = self_.prewake.Get();
  if (ring == 0) return;
  self_.prewake.Set(0);
  if (ring == segment::kPrewakeWanted) return;
  holder_ = ring;
  is_armed_ = true;
  is_skipped_ = false;
  was_prewoken_ = true;
}

void AdaptiveSpin::Arm(uint32_t holder) {
  holder_ = holder;
  is_armed_ = holder != 0;
  is_skipped_ = skips_ > 0;
  if (is_skipped_) --skips_;
}

// Only agents that contend with others come here, so a request for a free lock does not pay for it.
void AdaptiveSpin::PublishCpu() {
  const uint32_t cpu = host_.CurrentCpu();
  if (cpu == cpu_) return;
  cpu_ = cpu;
  self_.cpu.Set(cpu);
}

bool AdaptiveSpin::IsWorthwhile() {
  is_armed_ = false;
  if (is_skipped_) return false;
  PublishCpu();
  return IsHolderOnOtherCpu();
}

// A sleeping holder will not release soon, unless it has just been rung. All of this is a hint: a
// wrong one costs a useless wait, or a sleep.
bool AdaptiveSpin::IsHolderOnOtherCpu() const {
  if (holder_ > segment_.geometry().agents) return false;
  const segment::AgentEntry& holder = segment_.agent(holder_ - 1);
  const uint32_t sleep = holder.sleeping.Get();
  const bool is_awake = sleep == 0 || (sleep & segment::kRung) != 0;
  const uint32_t cpu = holder.cpu.Get();
  return is_awake && cpu != 0 && cpu_ != 0 && cpu != cpu_;
}

void AdaptiveSpin::Paid() {
  failures_ = 0;
  skips_ = 0;
  was_prewoken_ = false;
}

void AdaptiveSpin::Failed() {
  failures_ = std::min(failures_ + 1, kMaxFailures);
  skips_ = (1U << failures_) - 1;
  is_skipped_ = true;
  was_prewoken_ = false;
}

}  // namespace holdfast::core
