// Requests to the lock table, and its replies. Ids and numbers only: promises and callbacks stay in
// JavaScript.
#ifndef HOLDFAST_CORE_REQUEST_PARAMS_H_
#define HOLDFAST_CORE_REQUEST_PARAMS_H_

#include <cstdint>
#include <string_view>

#include "segment/layout.h"
#include "segment/lock_mode.h"
#include "segment/owner.h"
#include "segment/priority.h"

namespace holdfast::core {

// Of `max_pending`: no limit.
inline constexpr uint32_t kAnyNumber = UINT32_MAX;

struct RequestParams {
  uint32_t request_id = 0;  // the agent's own number; every event of the request carries it
  LockMode mode = LockMode::kExclusive;
  // If this request would have to wait: the most that may wait then, itself included; otherwise it
  // is missed. 0: with ifAvailable.
  uint32_t max_pending = kAnyNumber;
  bool steal = false;
  Priority priority = Priority::kUserVisible;
  uint32_t limit = 0;               // with kShared: maximum holders, itself included; 0: none
  uint64_t hold_limit_ns = 0;       // from the grant on; 0: none
  std::u16string_view label{};      // for display; cut at kMaxLabelUnits
  std::u16string_view call_site{};  // for display: where in the program it is made; empty: unknown
  uint64_t enclosing_token = 0;     // token of the lock in whose callback it is made; 0: none
  uint64_t now_ms = 0;              // since 1970, for display; need not be exact
};

// Names a record in the segment. Tickets are never reused: a cell with another ticket, or none, is
// another record.
struct RecordRef {
  segment::CellId cell = segment::kNoCell;
  uint32_t shard = 0;
  uint64_t ticket = 0;
};

// Why a waiting or holding request ends; a request that has lost its lock has ended already.
enum class EndReason { kReleased, kTimedOut, kExpired, kOwnerDied };

enum class RequestOutcome { kQueued, kGranted, kMissed };

// The process whose death would advance a queued request, or let a missed one in. `several`: more
// than one, see Blockers() or Holders().
struct Blocker {
  segment::ProcessRef process;
  bool several = false;
  uint32_t holder = 0;  // if the grant is near: 1 + the agent whose turn is first; 0: none
};

struct RequestReply {
  RequestOutcome outcome = RequestOutcome::kMissed;
  bool has_to_do_with_hold_limits = false;  // its own, or of others before it (hold_limits.h)
  RecordRef record;                         // none when missed
  uint64_t token = 0;                       // when granted
  Blocker blocker;             // when queued; when missed: a holder, or the first in the queue
  uint32_t missing_cells = 0;  // not 0: nothing was done, the shard needs this many cells first
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_REQUEST_PARAMS_H_
