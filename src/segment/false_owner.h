// A lock word that damage has made name a living process: to everybody else it looks like one that
// is stopped inside, so only that process itself may say that it is not, and then it frees the
// shard (invariant I14; docs/decisions/0018-challenging-a-false-owner.md).
#ifndef HOLDFAST_SEGMENT_FALSE_OWNER_H_
#define HOLDFAST_SEGMENT_FALSE_OWNER_H_

#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::segment {

// Frees every shard whose lock names this process though none of its threads is inside any shard,
// and leaves it to be repaired. What cannot be known now is left as it is: ask again.
void DisownShards(const Segment& segment, ProcessRef self, Host& host);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_FALSE_OWNER_H_
