// A short wait for events before an agent sleeps. Waking a sleeper on another CPU takes longer than
// most locks are held. An agent that polls its own word sees the grant in a fraction of that time.
// Polling pays only while the agent whose turn it is runs on another CPU, so it is done only then.
// The rules and their measurements: docs/decisions/0017-adaptive-spinning.md
#ifndef HOLDFAST_CORE_ADAPTIVE_SPIN_H_
#define HOLDFAST_CORE_ADAPTIVE_SPIN_H_

#include <cstdint>

#include "core/request_params.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

// Owned by one agent; used only on its thread.
class AdaptiveSpin {
 public:
  // More time than the wake-up of a sleeper on another CPU takes, also on a virtual machine that
  // releases idle CPUs. With less, two agents that have slept once would sleep each time, because
  // each agent stops polling just before the other is awake.
  static constexpr uint64_t kMaxNs = 100'000;
  // After n useless waits in a row, 2^n - 1 chances are skipped; this is the maximum of n.
  static constexpr uint32_t kMaxFailures = 6;

  AdaptiveSpin(segment::Segment& segment, segment::Host& host, uint32_t agent)
      : segment_(segment), host_(host), self_(segment.agent(agent)) {}

  // A request of this agent is in a queue now.
  void Queued(const Blocker& blocker);
  // This agent has received an event, and may receive the next one.
  void OnEvents();
  // It is about to sleep with a request pending: a peer may wake it one hand-off early.
  void FallingAsleep();
  // It is awake again.
  void Woken();

  // Polls `has_events()` for at most kMaxNs. False: there is no event, or polling would not pay.
  // `Queued()`, `OnEvents()` or a prewake arms it for one wait.
  template <typename HasEvents>
  bool SpinFor(const HasEvents& has_events) {
    if (!is_armed_ || !IsWorthwhile()) return false;
    const bool has_paid = PollFor(has_events);
    if (has_paid) {
      Paid();
    } else {
      Failed();
    }
    return has_paid;
  }

 private:
  // Polls between two reads of the clock and of the other agent's words, which are in remote cache
  // lines.
  static constexpr int kPolls = 20;

  template <typename HasEvents>
  bool PollFor(const HasEvents& has_events) {
    const uint64_t end_ns = host_.MonotonicNs() + kMaxNs;
    do {
      for (int i = 0; i < kPolls; ++i) {
        if (has_events()) return true;
        host_.Pause();
      }
    } while (IsHolderOnOtherCpu() && host_.MonotonicNs() < end_ns);
    return has_events();
  }
  void Arm(uint32_t holder);
  void PublishCpu();
  bool IsWorthwhile();
  bool IsHolderOnOtherCpu() const;
  void Paid();
  void Failed();

  segment::Segment& segment_;
  segment::Host& host_;
  segment::AgentEntry& self_;
  uint32_t holder_ = 0;  // Blocker::holder of the last request, or named by a prewake
  uint32_t cpu_ = 0;     // as published
  bool is_armed_ = false;
  bool is_skipped_ = false;
  bool was_prewoken_ = false;
  uint32_t failures_ = 0;  // in a row
  uint32_t skips_ = 0;     // how many chances are still skipped
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_ADAPTIVE_SPIN_H_
