// Whether a request waits for its own thread: for a lock that an agent of the thread holds, or for
// an earlier request of it. A thread that blocks on such a request never continues.
#ifndef HOLDFAST_CORE_SELF_DEADLOCK_H_
#define HOLDFAST_CORE_SELF_DEADLOCK_H_

#include <cstdint>

#include "core/lock_table.h"
#include "platform/result.h"

namespace holdfast::core {

// False also if the request does not wait any more. Errors: kBusy.
Result<bool> WouldSelfDeadlock(LockTable& lock_table, const segment::AgentRef& agent,
                               const RecordRef& record, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SELF_DEADLOCK_H_
