// What the background worker's thread has to say to an agent about requests that were left to it.
#ifndef HOLDFAST_CORE_COMPLETION_QUEUE_H_
#define HOLDFAST_CORE_COMPLETION_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/lock_request.h"
#include "platform/result.h"

namespace holdfast::core {

struct CompletionQueue {
  // What became of a request.
  struct Completion {
    uint32_t id = 0;
    Result<RequestReply> reply;
  };
  // A request that still cannot be placed.
  struct Stall {
    uint32_t id = 0;
    uint32_t process_id = 0;  // of the one in the way; 0: unknown
  };
  std::mutex mutex;
  std::deque<Completion> completions;
  std::vector<Stall> stalls;
  std::atomic<bool> has_completions{false};  // of either kind
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_COMPLETION_QUEUE_H_
