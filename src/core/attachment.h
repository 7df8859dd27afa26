// This process's use of a bucket: opens it, joins it, notices that it was lost, leaves it. Owns the
// mapped segment, the slot, the lifeline and the background worker. Shared by all agents (threads)
// of the process that use the bucket; ends with the last of them.
#ifndef HOLDFAST_CORE_ATTACHMENT_H_
#define HOLDFAST_CORE_ATTACHMENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/background_worker.h"
#include "core/lock_table.h"
#include "core/operation_pool.h"
#include "core/os_host.h"
#include "core/process_slots.h"
#include "platform/bucket_directory.h"
#include "platform/doorbell.h"
#include "platform/fork_guard.h"
#include "platform/process_identity.h"
#include "platform/result.h"
#include "platform/segment_file.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

struct AttachOptions {
  std::string directory;  // absolute
  std::string bucket;
  uint64_t capacity = segment::kDefaultCapacity;  // bytes; counts when the segment is created
  bool sweeps = true;
  uint32_t thread_id = 0;  // to show: Node's
  platform::Users users = platform::Users::kOneUserOrGroup;
};

class Attachment {
 public:
  // Opens the bucket, or returns the attachment that this process already has.
  static Result<std::shared_ptr<Attachment>> Attach(const AttachOptions& options);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  LockTable& lock_table() { return *lock_table_; }
  BackgroundWorker& worker() { return *worker_; }
  segment::Host& host() { return host_; }
  ProcessSlots& slots() { return slots_; }
  OperationPool& operations() { return *operations_; }
  const platform::BucketDirectory& directory() const { return directory_; }

  // Closes descriptors that a forked child must not keep.
  platform::ForkGuard& fork_guard() { return fork_guard_; }
  // Whether this is a forked child of the process that attached: it owns nothing here.
  bool IsForkedChild() const { return is_forked_child_.load(std::memory_order_relaxed); }

  // kDisconnected once the segment was removed or replaced (there may be two tables of one name).
  // Also once this process has lost its slot (peers may take it for dead). Then nothing is granted
  // here any more. Checks at most once per kCheckIntervalNs. Any thread.
  // `now_ns`: MonotonicNs.
  Status CheckAttached(uint64_t now_ns);

  // Watches the process that has executed this operation, an end or a steal of an agent of this
  // process. The combiner may have died before it rang the agents whose locks the operation has
  // granted or taken. Any thread.
  void FollowCombiner(const segment::OperationCell& operation);

  // Returns new descriptors. While they are open in any process, peers take this one for alive, and
  // its locks stay held. Serves a command that keeps a lock after this process was killed.
  Result<std::array<platform::UniqueFd, 2>> ShareLife() const;

 private:
  Attachment(platform::BucketDirectory directory, platform::SegmentFile file,
             const AttachOptions& options);

  Status Join(const AttachOptions& options);
  Status MakeLifeline();
  void ReapTheDead(segment::ProcessRef predecessor);
  const char* FindWhyLost() const;

  platform::BucketDirectory directory_;
  platform::SegmentFile file_;
  const std::string path_;  // of the segment file
  const std::string bucket_;
  const uint32_t user_id_ = platform::EffectiveUserId();
  segment::Segment segment_;
  ProcessSlots slots_;
  OsHost host_;
  std::optional<platform::Doorbell> lifeline_;
  std::optional<LockTable> lock_table_;
  std::optional<OperationPool> operations_;
  std::optional<BackgroundWorker> worker_;
  std::atomic<bool> is_forked_child_{false};
  std::atomic<const char*> why_lost_{nullptr};  // null: it is connected
  std::atomic<uint64_t> next_check_ns_{0};
  platform::ForkGuard fork_guard_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_ATTACHMENT_H_
