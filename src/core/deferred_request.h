// A request whose shard was not to be had: the background worker's thread, which may wait, tries it
// again and again, and tells the agent how it went.
#ifndef HOLDFAST_CORE_DEFERRED_REQUEST_H_
#define HOLDFAST_CORE_DEFERRED_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/attachment.h"
#include "core/completion_queue.h"
#include "core/lock_request.h"
#include "platform/status.h"
#include "segment/owner.h"
#include "segment/resource_name.h"

namespace holdfast::core {

class DeferredRequest {
 public:
  DeferredRequest(Attachment& attachment, const segment::AgentRef& agent,
                  std::shared_ptr<CompletionQueue> completion_queue,
                  const segment::ResourceName& name, const LockRequest& request);

  // To be called by the background worker, again after kBusy.
  StatusCode operator()();

 private:
  void TellIfStalled(uint32_t shard);

  Attachment* attachment_;
  segment::AgentRef agent_;
  std::shared_ptr<CompletionQueue> completions_;
  LockRequest request_;  // its texts are the next three
  std::u16string name_;
  std::u16string label_;
  std::u16string call_site_;
  uint64_t begin_ns_;
  bool has_told_ = false;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_DEFERRED_REQUEST_H_
