// What is asked of the lock table, and what it answers. Ids and numbers only: promises and
// callbacks are the business of JavaScript.
#ifndef HOLDFAST_CORE_LOCK_REQUEST_H_
#define HOLDFAST_CORE_LOCK_REQUEST_H_

#include <cstdint>
#include <string_view>

#include "segment/layout.h"
#include "segment/lock_mode.h"
#include "segment/owner.h"

namespace holdfast::core {

struct LockRequest {
  uint32_t request_id = 0;  // the agent's own number, given back with every events about it
  LockMode mode = LockMode::kExclusive;
  bool if_available = false;
  bool steal = false;
  uint32_t limit = 0;               // with kShared: at most so many holders with it; 0: no limit
  uint64_t hold_limit_ns = 0;       // from the grant on; 0: none
  std::u16string_view label{};      // shown to people; cut at kMaxLabelUnits
  std::u16string_view call_site{};  // likewise: where in the program it is made; empty: unknown
  uint64_t enclosing_token = 0;     // of the lock in whose callback it is made; 0: none
  uint64_t now_ms = 0;              // since 1970, to show; need not be exact
};

// A record in the segment. The ticket is never used again: a cell that has another one, or none,
// is another record.
struct RecordRef {
  segment::CellId cell = segment::kNoCell;
  uint32_t shard = 0;
  uint64_t ticket = 0;
};

// Why a request ends, while it waits or holds; one that has lost its lock has ended already.
enum class EndReason { kReleased, kTimedOut, kExpired, kOwnerDied };

enum class RequestOutcome { kQueued, kGranted, kMissed };

// Whose death would bring a queued request forward. `several`: more than fit in here, ask
// Blockers() or Holders().
struct Blocker {
  segment::ProcessRef process;
  bool several = false;
  uint32_t holder = 0;  // when the request comes soon: 1 + the agent whose turn is before; 0: none
};

struct RequestReply {
  RequestOutcome outcome = RequestOutcome::kMissed;
  bool has_to_do_with_hold_limits = false;  // its own, or of others before it (hold_limits.h)
  RecordRef record;                         // none when missed
  uint64_t token = 0;                       // when granted
  Blocker blocker;  // when queued; when missed: who has the lock, or the first in the queue
  uint32_t missing_cells = 0;  // not 0: nothing was done, the shard must grow by so many first
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_LOCK_REQUEST_H_
