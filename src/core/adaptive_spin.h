// A short wait for events before an agent sleeps. Waking a sleeper on another processor takes
// longer than most locks are held; who looks at its own word meanwhile hears of the grant in a
// fraction of that. It pays only while the one whose turn it is runs on another processor, so
// nobody waits so otherwise. The rules and their measurements:
// docs/decisions/0017-adaptive-spinning.md
#ifndef HOLDFAST_CORE_ADAPTIVE_SPIN_H_
#define HOLDFAST_CORE_ADAPTIVE_SPIN_H_

#include <cstdint>

#include "core/lock_request.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

// Of one agent, and for its thread.
class AdaptiveSpin {
 public:
  // About as long as it takes to wake a sleeper on another processor: a wait in vain costs at most
  // twice what the sleep alone would.
  static constexpr uint64_t kMaxNs = 50'000;
  // After so many waits in vain in a row, 2 to this power less one are skipped.
  static constexpr uint32_t kMaxFailures = 6;

  AdaptiveSpin(const segment::Segment& segment, segment::Host& host, uint32_t agent)
      : segment_(segment), host_(host), self_(segment.agent(agent)) {}

  // A request of this agent is in a queue now.
  void Queued(const Blocker& blocker);
  // This agent has heard something, and may be next to whom something comes.
  void Heard();
  // It is about to sleep, and waits for something: whoever releases a turn before may ring it.
  void FallingAsleep();
  // It is awake again.
  void Woken();

  // Looks until `has_events()`, for kMaxNs at most. False: there is no event, or waiting would not
  // pay; once armed (Queued, Heard, or an early ring) gives one wait.
  template <typename HasEvents>
  bool SpinFor(const HasEvents& has_events) {
    if (!is_armed_ || !IsWorthwhile()) return false;
    const bool has_paid = LookFor(has_events);
    if (has_paid) {
      Paid();
    } else {
      Failed();
    }
    return has_paid;
  }

 private:
  // Between two looks at the clock and at the other agent, whose words are far away.
  static constexpr int kLooks = 20;

  template <typename HasEvents>
  bool LookFor(const HasEvents& has_events) {
    const uint64_t end_ns = host_.MonotonicNs() + kMaxNs;
    do {
      for (int i = 0; i < kLooks; ++i) {
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

  const segment::Segment& segment_;
  segment::Host& host_;
  segment::AgentEntry& self_;
  uint32_t holder_ = 0;  // Blocker::holder of what was queued last, or who rang for another
  uint32_t cpu_ = 0;     // as published
  bool is_armed_ = false;
  bool is_skipped_ = false;
  bool was_prewoken_ = false;
  uint32_t failures_ = 0;  // in a row
  uint32_t skips_ = 0;     // so many chances are skipped now
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_ADAPTIVE_SPIN_H_
