// Locks that may be held for so long only: whoever holds or waits looks at the time, in its own
// process, and takes away what is over. No clock touches a lock that was asked for without limit.
//
// Times of different processes are compared only when one clock gave both (Host::ClockId).
// Of other holders counts when this process saw them first.
#ifndef HOLDFAST_CORE_HOLD_LIMITS_H_
#define HOLDFAST_CORE_HOLD_LIMITS_H_

#include <array>
#include <cstdint>

#include "core/lock_manager.h"
#include "platform/result.h"

namespace holdfast::core {

// When grants by clocks of others were seen first. Those that are gone make room; for whom there is
// none, the time begins when somebody else has gone.
class FirstSeenTimes {
 public:
  uint64_t SinceNs(uint64_t token, uint64_t now_ns);
  // Forgets whom nobody has asked for since the last call.
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

// Whether the time of a lock with a hold limit is over, told or not.
bool IsHeldTooLong(const segment::RequestCell& holder, segment::Host& host);

// Looks at what a request holds, or at the holders that it waits for, and takes one lock away whose
// time is over. Returns when to look again (MonotonicNs; in the past: at once), 0: never.
// Errors: kBusy.
Result<uint64_t> EnforceHoldLimits(LockManager& manager, const RecordRef& record,
                                   FirstSeenTimes& first_seen, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_HOLD_LIMITS_H_
