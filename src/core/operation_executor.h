// Does what an operation of the intake asks for (segment/intake.h), on behalf of its agent, by the
// same rules as if the agent were inside the shard itself.
//
// An operation takes effect with the commit of its record, and is marked as executed after that. If
// whoever executes it dies in between, the repair executes it again, and finds it has been done: an
// agent has one request of a number that waits or holds, and what an end found is noted before.
#ifndef HOLDFAST_CORE_OPERATION_EXECUTOR_H_
#define HOLDFAST_CORE_OPERATION_EXECUTOR_H_

#include "core/lock_request.h"
#include "core/wake_queue.h"
#include "platform/result.h"
#include "segment/intake.h"
#include "segment/owner.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// Inside the shard lock.
class OperationExecutor {
 public:
  // `self`: whose thread executes.
  OperationExecutor(const segment::ShardView& shard, WakeQueue& wake_queue,
                    segment::ProcessRef self)
      : shard_(shard), wake_queue_(wake_queue), self_(self) {}

  enum class Occasion { kIntake, kRepair };
  // False: damage was met; the operation is still pending, and the shard is marked.
  bool Execute(segment::CellId id, segment::OperationCell& operation, Occasion occasion);

 private:
  bool Run(segment::CellId id, segment::OperationCell& operation, const segment::AgentRef& agent,
           Occasion occasion);
  bool RunRequest(segment::CellId id, segment::OperationCell& operation,
                  const segment::AgentRef& agent, Occasion occasion);
  bool RunEnd(segment::OperationCell& operation);
  bool AnswerFromRecord(segment::OperationCell& operation, const segment::AgentRef& agent);
  RecordRef RecordOf(const segment::OperationCell& operation) const;
  Status Grow(uint32_t cells);

  segment::ShardView shard_;
  WakeQueue& wake_queue_;
  segment::ProcessRef self_;
};

// What an operation asks for; its texts are in `texts`.
LockRequest LockRequestFrom(const segment::OperationCell& operation,
                            const segment::OperationTexts& texts);
// What an executed request came to.
Result<RequestReply> ReplyOf(const segment::OperationCell& operation);
// A record as an answer: of a request that was executed, and whose answer got lost.
RequestReply ReplyFromRecord(const segment::ShardView& shard, const RecordRef& record,
                             const segment::RequestCell& request);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_OPERATION_EXECUTOR_H_
