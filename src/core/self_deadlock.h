// Whether a request waits for its own thread: for what an agent of the thread holds, or has asked
// for earlier and would have to give back first. A thread that blocks until such a request is
// granted never goes on.
#ifndef HOLDFAST_CORE_SELF_DEADLOCK_H_
#define HOLDFAST_CORE_SELF_DEADLOCK_H_

#include <cstdint>

#include "core/lock_manager.h"
#include "platform/result.h"

namespace holdfast::core {

// False, too, when the request does not wait any more. Errors: kBusy.
Result<bool> WouldSelfDeadlock(LockManager& manager, const segment::AgentRef& agent,
                               const RecordRef& record, uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SELF_DEADLOCK_H_
