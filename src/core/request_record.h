// The record of a request in the segment, from the cell that is taken for it to its return. Inside
// the shard lock; the states in between are the business of the rules.
#ifndef HOLDFAST_CORE_REQUEST_RECORD_H_
#define HOLDFAST_CORE_REQUEST_RECORD_H_

#include <cstdint>

#include "core/lock_request.h"
#include "segment/environment.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// The record and its label.
uint32_t CellsForRecord(const LockRequest& request);

// Fills a free cell; it stays free until somebody stores its state. kNoCell: the pool did not have
// CellsForRecord(request), or is damaged.
segment::CellId TakeRecord(const segment::ShardView& shard, const segment::AgentRef& agent,
                           const LockRequest& request, segment::CellId name_id);

// What is known of a grant before it is committed: its token and its time.
void StampGrant(const segment::Segment& segment, segment::Environment& environment,
                segment::RequestCell& request, uint64_t now_ms);

// Commits the end of a record that is in no list any more, then frees what belongs to it.
void GiveRecord(const segment::ShardView& shard, segment::CellId id, segment::RequestCell& request);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_REQUEST_RECORD_H_
