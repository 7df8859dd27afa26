// Allocates, stamps and frees the record of a request. Inside the shard lock; shard_rules.h has the
// states in between.
#ifndef HOLDFAST_CORE_REQUEST_RECORD_H_
#define HOLDFAST_CORE_REQUEST_RECORD_H_

#include <algorithm>
#include <cstdint>

#include "core/request_params.h"
#include "segment/host.h"
#include "segment/lock_mode.h"
#include "segment/record_pool.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// The stored length of a label or a call site.
inline uint32_t TextLength(std::u16string_view text) {
  return static_cast<uint32_t>(std::min<size_t>(text.size(), segment::kMaxLabelUnits));
}

inline LockMode ModeOf(const segment::RequestCell& request) {
  const bool is_shared = request.mode.Get() == static_cast<uint8_t>(LockMode::kShared);
  return is_shared ? LockMode::kShared : LockMode::kExclusive;
}

// Cells for the record and its texts.
inline uint32_t CellsForRecord(const RequestParams& request) {
  return 1 + segment::TextPieces::CellsFor(TextLength(request.label)) +
         segment::TextPieces::CellsFor(TextLength(request.call_site));
}

// Fills a free cell; it stays free until its state is stored. kNoCell: the pool did not have
// CellsForRecord(request), or is corrupted.
segment::CellId TakeRecord(const segment::ShardView& shard, const segment::AgentRef& agent,
                           const RequestParams& request, segment::CellId name_id);

// The part of StampGrant() for requests with a hold limit.
void StampHold(segment::Host& host, segment::RequestCell& request);

// The next token if `last_token` is corrupted: tokens continue from the clock.
uint64_t TokenAfterCorruption(segment::Segment& segment, segment::Host& host);

inline uint64_t NextToken(segment::Segment& segment, segment::Host& host) {
  const uint64_t token = segment.header().last_token.FetchAdd(1) + 1;
  const bool is_valid = token > segment::kFirstToken && token < segment::kTokenLimit;
  return is_valid ? token : TokenAfterCorruption(segment, host);
}

// Stores the token and the time of a grant, before it is committed.
inline void StampGrant(segment::Segment& segment, segment::Host& host,
                       segment::RequestCell& request, uint64_t now_ms) {
  request.token.Set(NextToken(segment, host));
  request.granted_ms.Set(now_ms);
  if (request.hold_limit_ns.Get() != 0) StampHold(host, request);
}

// Commits the end of a record that is in no list, then frees its texts and its cell.
inline void FreeRecord(const segment::ShardView& shard, segment::CellId id,
                       segment::RequestCell& request) {
  const segment::CellId label = request.label.Get();
  const segment::CellId call_site = request.call_site.Get();
  // A death after this leaves pieces without an owner, which Repair frees.
  segment::RecordPool(shard).Free(id, reinterpret_cast<segment::AnyCell&>(request));
  if (label != segment::kNoCell) segment::TextPieces(shard, id).Free(label);
  if (call_site != segment::kNoCell) segment::TextPieces(shard, id).Free(call_site);
}

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_REQUEST_RECORD_H_
