#include "core/deferred_entry.h"

#include <utility>

#include "core/shard_timeouts.h"
#include "segment/lock_word.h"
#include "segment/publication_list.h"

namespace holdfast::core {

namespace {

// A process is inside a shard for this long only if it is stopped.
constexpr uint64_t kStallNs = 1'000'000'000;

}  // namespace

// The first call only requests a second call: meanwhile the process inside may execute the
// publication list itself.
StatusCode DeferredEntry::operator()() {
  if (!std::exchange(has_waited_, true)) return StatusCode::kBusy;
  std::vector<LockTable::OperationRef> operations;
  {
    const std::lock_guard<std::mutex> guard(log_->mutex);
    operations = operations_;
  }
  const size_t taken = operations.size();
  const Status entered =
      attachment_->lock_table().ExecutePublished(shard_, operations, kWorkerTimeoutNs);
  DropExecuted(operations);
  if (entered.code() != StatusCode::kBusy) {
    operations.clear();
    begin_ns_ = attachment_->host().MonotonicNs();  // no thread is stopped inside
  }
  if (!operations.empty()) ReportIfStalled();
  {
    const std::lock_guard<std::mutex> guard(log_->mutex);
    operations_.erase(operations_.begin(), operations_.begin() + static_cast<ptrdiff_t>(taken));
    operations_.insert(operations_.begin(), operations.begin(), operations.end());
    is_over_ = operations_.empty();
    if (!is_over_) return StatusCode::kBusy;
    log_->done.push_back(shard_);
    log_->has_news.store(true);
  }
  attachment_->host().Ring(agent_);
  return StatusCode::kOk;
}

bool DeferredEntry::Add(const LockTable::OperationRef& operation) {
  const std::lock_guard<std::mutex> guard(log_->mutex);
  if (!is_over_) operations_.push_back(operation);
  return !is_over_;
}

bool DeferredEntry::IsOver() const {
  const std::lock_guard<std::mutex> guard(log_->mutex);
  return is_over_;
}

// The event loop of the agent may be blocked.
void DeferredEntry::DropExecuted(std::vector<LockTable::OperationRef>& operations) {
  std::erase_if(operations, [this](const LockTable::OperationRef& operation) {
    const segment::OperationCell* const cell =
        segment::OperationAt(attachment_->lock_table().segment(), operation.id);
    if (cell == nullptr) return true;
    const bool is_pending = cell->state.Acquire() == segment::OperationState::kPending;
    // Its cell has been reused.
    if (cell->number.Get() != operation.number) return true;
    if (!is_pending) attachment_->FollowCombiner(*cell);
    return !is_pending;
  });
}

// Once, so that people can act.
void DeferredEntry::ReportIfStalled() {
  if (has_reported_ || attachment_->host().MonotonicNs() - begin_ns_ < kStallNs) return;
  has_reported_ = true;
  segment::Segment& segment = attachment_->lock_table().segment();
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
