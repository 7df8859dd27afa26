#include "core/shard_visit.h"

#include <algorithm>
#include <utility>

#include "core/shard_timeouts.h"
#include "segment/intake.h"
#include "segment/lock_word.h"

namespace holdfast::core {

namespace {

// A process is inside a shard for this long only if it is stopped.
constexpr uint64_t kStallNs = 1'000'000'000;

}  // namespace

// The first call only asks to be called again: meanwhile the process inside may execute the intake
// itself.
StatusCode ShardVisit::operator()() {
  if (!std::exchange(has_waited_, true)) return StatusCode::kBusy;
  const Status visited = attachment_->manager().Visit(shard_, operations_, kWorkerTimeoutNs);
  if (visited.code() == StatusCode::kBusy && IsAnyPending()) {
    TellIfStalled();
    return StatusCode::kBusy;
  }
  FollowExecutors();
  {
    const std::lock_guard<std::mutex> guard(log_->mutex);
    log_->done.push_back(shard_);
    log_->has_news.store(true);
  }
  attachment_->host().Ring(agent_);
  return StatusCode::kOk;
}

bool ShardVisit::IsAnyPending() const {
  segment::Segment& segment = attachment_->manager().segment();
  return std::any_of(operations_.begin(), operations_.end(), [&](const auto& operation) {
    const segment::OperationCell* const cell = segment::OperationAt(segment, operation.id);
    return cell != nullptr && cell->state.Acquire() == segment::OperationState::kPending &&
           cell->number.Get() == operation.number;
  });
}

// Here, because the event loop of the agent may be blocked.
void ShardVisit::FollowExecutors() {
  for (const auto& [id, number] : operations_) {
    const segment::OperationCell* const cell =
        segment::OperationAt(attachment_->manager().segment(), id);
    const bool is_executed = cell != nullptr &&
                             cell->state.Acquire() != segment::OperationState::kPending &&
                             cell->number.Get() == number;
    if (is_executed) attachment_->FollowExecutor(*cell);
  }
}

// Once, so that people can act.
void ShardVisit::TellIfStalled() {
  if (has_told_ || attachment_->host().MonotonicNs() - begin_ns_ < kStallNs) return;
  has_told_ = true;
  segment::Segment& segment = attachment_->manager().segment();
  const segment::ProcessRef owner = segment::LockWord(segment, shard_).Owner();
  const uint32_t process_id =
      owner.generation == 0 ? 0 : segment.process(owner.slot).process_id.Get();
  {
    const std::lock_guard<std::mutex> guard(log_->mutex);
    log_->stalls.push_back({shard_, process_id});
    log_->has_news.store(true);
  }
  attachment_->host().Ring(agent_);
}

}  // namespace holdfast::core
