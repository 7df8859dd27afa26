// LockManager::Request, with reaping: a dead holder must not be the reason why a lock is not
// available.
#ifndef HOLDFAST_CORE_SUBMIT_REQUEST_H_
#define HOLDFAST_CORE_SUBMIT_REQUEST_H_

#include <cstdint>

#include "core/attachment.h"
#include "core/lock_request.h"
#include "platform/result.h"
#include "segment/resource_name.h"

namespace holdfast::core {

// Any thread of the process. `timeout_ns`: as in LockManager.
Result<RequestReply> SubmitRequest(Attachment& attachment, const segment::AgentRef& self,
                                   const segment::ResourceName& name, const LockRequest& request,
                                   uint64_t timeout_ns);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SUBMIT_REQUEST_H_
