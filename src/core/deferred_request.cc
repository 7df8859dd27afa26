#include "core/deferred_request.h"

#include <utility>

#include "core/submit_request.h"
#include "segment/lock_word.h"

namespace holdfast::core {
namespace {

// The background worker has other shards to care for.
constexpr uint64_t kShardTimeoutNs = 1'000'000;
// Nobody is inside a shard so long, unless it is stopped.
constexpr uint64_t kStallNs = 1'000'000'000;

}  // namespace

DeferredRequest::DeferredRequest(Attachment& attachment, const segment::AgentRef& agent,
                                 std::shared_ptr<CompletionQueue> completion_queue,
                                 const segment::ResourceName& name, const LockRequest& request)
    : attachment_(&attachment),
      agent_(agent),
      completions_(std::move(completion_queue)),
      request_(request),
      name_(name.units(), name.length()),
      label_(request.label),
      call_site_(request.call_site),
      begin_ns_(attachment.MonotonicNs()) {}

StatusCode DeferredRequest::operator()() {
  const segment::ResourceName name(name_.data(), static_cast<uint32_t>(name_.size()));
  LockRequest request = request_;
  request.label = label_;
  request.call_site = call_site_;
  const Result<RequestReply> reply =
      SubmitRequest(*attachment_, agent_, name, request, kShardTimeoutNs);
  if (reply.status().code() == StatusCode::kBusy) {
    TellIfStalled(name.ShardOf(attachment_->manager().segment().geometry().shards));
    return StatusCode::kBusy;
  }
  {
    const std::lock_guard<std::mutex> guard(completions_->mutex);
    completions_->completions.push_back({request.request_id, reply});
    completions_->has_completions.store(true);
  }
  attachment_->Ring(agent_);
  return StatusCode::kOk;
}

// Once: people can do something about it.
void DeferredRequest::TellIfStalled(uint32_t shard) {
  if (has_told_ || attachment_->MonotonicNs() - begin_ns_ < kStallNs) return;
  has_told_ = true;
  const segment::Segment& segment = attachment_->manager().segment();
  const segment::ProcessRef owner = segment::LockWord(segment, shard).Owner();
  const uint32_t process_id =
      owner.generation == 0 ? 0 : segment.process(owner.slot).process_id.Get();
  {
    const std::lock_guard<std::mutex> guard(completions_->mutex);
    completions_->stalls.push_back({request_.request_id, process_id});
    completions_->has_completions.store(true);
  }
  attachment_->Ring(agent_);
}

}  // namespace holdfast::core
