// The numbered invariants of layout.h, tested one by one. For tests and for looking at a segment
// that went wrong; nothing in the core depends on it.
#ifndef HOLDFAST_SEGMENT_INVARIANTS_H_
#define HOLDFAST_SEGMENT_INVARIANTS_H_

#include <string>
#include <vector>

#include "segment/shard_view.h"

namespace holdfast::segment {

using Violations = std::vector<std::string>;

// How a violation names a cell.
std::string CellName(CellId id);

// What is wrong with a shard, one sentence each, beginning with the number of the invariant; empty
// when all is well. Nobody may be inside the shard, and no agent may be taking its events.
Violations CheckInvariants(const ShardView& shard);

// The same for all shards, and for what holds between them.
Violations CheckInvariants(const Segment& segment);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_INVARIANTS_H_
