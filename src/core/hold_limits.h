// Enforces hold limits. The holder's process and every waiting process check the time, and expire a
// lock whose limit has passed. No clock affects a lock without a limit.
//
// Times of different processes are compared only when one clock gave both (Host::ClockId). For
// other holders the time counts from the moment at which this process first saw them.
#ifndef HOLDFAST_CORE_HOLD_LIMITS_H_
#define HOLDFAST_CORE_HOLD_LIMITS_H_

#include <array>
#include <cstdint>

#include "core/lock_manager.h"
#include "platform/result.h"

namespace holdfast::core {

// When grants with an incomparable clock were first seen. Ended grants make room; if there is none,
// the time of a new grant begins once an entry is free.
class FirstSeenTimes {
 public:
  uint64_t SinceNs(uint64_t token, uint64_t now_ns);
  // Removes grants that were not looked up since the last call.
  void Prune();

 private:
  struct FirstSeen {
    uint64_t token = 0;  // 0: free
    uint64_t since_ns = 0;
    bool is_current = false;
  };
  static constexpr uint32_t kMax = 8;
  std::array<FirstSeen, kMax> first_seen_{};
};

// Whether a lock's hold limit has passed, even if its holder was not notified.
bool IsHeldTooLong(const segment::RequestCell& holder, segment::Host& host);

// Checks the lock that a request holds, or the holders that it waits for, and expires at most one
// of them. Returns the time of the next check (MonotonicNs; in the past: at once), 0: never.
// Errors: kBusy.
Result<uint64_t> EnforceHoldLimits(LockManager& manager, const RecordRef& record,
                                   FirstSeenTimes& first_seen, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_HOLD_LIMITS_H_
