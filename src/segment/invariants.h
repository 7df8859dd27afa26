// The numbered invariants of layout.h, tested one by one. For tests and for the inspection of
// corrupted segments; the core does not depend on it.
#ifndef HOLDFAST_SEGMENT_INVARIANTS_H_
#define HOLDFAST_SEGMENT_INVARIANTS_H_

#include <string>
#include <vector>

#include "segment/shard_view.h"

namespace holdfast::segment {

using Violations = std::vector<std::string>;

// How a violation names a cell.
std::string CellName(CellId id);

// Returns one sentence per violation, which begins with the number of the invariant. REQUIRES: no
// thread is inside the shard, and no agent is taking its events.
Violations CheckInvariants(const ShardView& shard);

// The same for all shards, and for the invariants between them.
Violations CheckInvariants(Segment& segment);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_INVARIANTS_H_
