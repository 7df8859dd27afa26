// Executes an operation of the publication list (segment/publication_list.h) on behalf of its
// agent, by the same rules as if the agent were inside the shard.
//
// An operation takes effect with the commit of its record, and is marked as executed after that. If
// the executing thread dies in between, the repair executes it again. The repair finds it done: an
// agent has at most one request of a number, and the outcome of an end is noted first.
#ifndef HOLDFAST_CORE_COMBINER_H_
#define HOLDFAST_CORE_COMBINER_H_

#include "core/request_params.h"
#include "core/wake_queue.h"
#include "platform/result.h"
#include "segment/owner.h"
#include "segment/publication_list.h"
#include "segment/shard_view.h"

namespace holdfast::core {

// Inside the shard lock.
class Combiner {
 public:
  // `self`: the executing process.
  Combiner(const segment::ShardView& shard, WakeQueue& wake_queue, segment::ProcessRef self)
      : shard_(shard), wake_queue_(wake_queue), self_(self) {}

  enum class Occasion { kPublished, kRepair };
  // False: corruption was found. The operation is still pending, and the shard is marked.
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

// The request of an operation; its texts are in `texts`.
RequestParams RequestParamsFrom(const segment::OperationCell& operation,
                                const segment::OperationTexts& texts);
// The outcome of an executed request.
Result<RequestReply> ReplyOf(const segment::OperationCell& operation);
// The record of an executed request as its answer, if the answer was lost.
RequestReply ReplyFromRecord(const segment::ShardView& shard, const RecordRef& record,
                             const segment::RequestCell& request);

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_COMBINER_H_
