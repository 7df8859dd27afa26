// Counts the requests of a name with a hold limit, so that a waiter can decide whether it must
// check limits. Inside the shard lock.
#ifndef HOLDFAST_SEGMENT_HOLD_LIMIT_COUNT_H_
#define HOLDFAST_SEGMENT_HOLD_LIMIT_COUNT_H_

#include "segment/layout.h"

namespace holdfast::segment {

// The request entered the queue or the held list of the name.
inline void CountHoldLimit(NameCell& name, const RequestCell& request) {
  const uint64_t limit = request.hold_limit_ns.Get();
  if (limit == 0) return;
  const uint32_t count = name.hold_limited.Get();
  if (count == 0 || limit < name.least_hold_limit_ns.Get()) name.least_hold_limit_ns.Set(limit);
  name.hold_limited.Set(count + 1);
}

// The request has left both; false: it was never counted.
inline bool UncountHoldLimit(NameCell& name, const RequestCell& request) {
  if (request.hold_limit_ns.Get() == 0) return true;
  const uint32_t count = name.hold_limited.Get();
  if (count == 0) return false;
  name.hold_limited.Set(count - 1);
  return true;
}

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_HOLD_LIMIT_COUNT_H_
