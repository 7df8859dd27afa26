// Handles a lock word that corruption has made name a live process. Peers cannot distinguish that
// process from a process that is stopped inside. Only the named process can detect that it is not
// inside, and it frees the shard (invariant I14; docs/decisions/0005-a-lifeline-per-process.md).
#ifndef HOLDFAST_SEGMENT_FALSE_OWNER_H_
#define HOLDFAST_SEGMENT_FALSE_OWNER_H_

#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::segment {

// Frees every shard whose lock names this process though none of its threads is inside any shard,
// and leaves it to be repaired. A shard whose state is uncertain is left alone: call again.
void DisownShards(Segment& segment, ProcessRef self, Host& host);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_FALSE_OWNER_H_
