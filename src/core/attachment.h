// This process's use of a bucket: the mapped segment, its slot, its lifeline, its background
// worker. Shared by all agents (threads) of the process that use the bucket; ends with the last of
// them.
#ifndef HOLDFAST_CORE_ATTACHMENT_H_
#define HOLDFAST_CORE_ATTACHMENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/background_worker.h"
#include "core/lock_manager.h"
#include "core/peer_doorbells.h"
#include "platform/bucket_directory.h"
#include "platform/doorbell.h"
#include "platform/fork_guard.h"
#include "platform/process_identity.h"
#include "platform/result.h"
#include "platform/segment_file.h"
#include "platform/slot_lock.h"
#include "segment/backing.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

struct AttachOptions {
  std::string directory;  // absolute
  std::string bucket;
  uint64_t capacity = segment::kDefaultCapacity;  // bytes; counts when the segment is created
  bool sweeps = true;
  uint32_t thread_id = 0;  // to show: Node's
};

class Attachment final : public segment::Host {
 public:
  // Opens the bucket, or returns the attachment that this process already has.
  static Result<std::shared_ptr<Attachment>> Attach(const AttachOptions& options);
  ~Attachment() override;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  LockManager& manager() { return *manager_; }
  BackgroundWorker& worker() { return *worker_; }
  const platform::BucketDirectory& directory() const { return directory_; }

  // Closes descriptors that a forked child must not keep.
  platform::ForkGuard& fork_guard() { return fork_guard_; }
  // Whether this is a forked child of the process that attached: it owns nothing here.
  bool IsForkedChild() const { return is_forked_child_.load(std::memory_order_relaxed); }

  // kDisconnected once the segment was removed or replaced (there may be two tables of one name),
  // or this process has lost its slot (peers may take it for dead). Then nothing is granted here
  // any more. Asks the system at most once per kPlaceLookEveryNs. Any thread.
  Status CheckPlace();

  // An agent entry of this process. kTooManyAgents: all are taken.
  Result<segment::AgentRef> ClaimAgent(const uint64_t (&client_id)[2], uint32_t thread_id);
  void ReleaseAgent(const segment::AgentRef& agent);

  // Returns new descriptors. While they are open in any process, peers take this one for alive, and
  // its locks stay held: for a command that keeps a lock after this process was killed.
  Result<std::array<platform::UniqueFd, 2>> ShareLife() const;

  // Host
  bool IsAlive(segment::ProcessRef process) override;
  void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) override;
  void FutexWake(std::atomic<uint32_t>* word) override;
  uint32_t CurrentCpu() override;
  void Pause() override;
  uint64_t MonotonicNs() override;
  uint32_t ClockId() override { return clock_id_; }
  uint64_t RealtimeMs() override;
  void Ring(const segment::AgentRef& agent) override;
  void RemoveDoorbell(const segment::AgentRef& agent) override;
  void RemoveLifeline(segment::ProcessRef process) override;
  Status Allocate(uint64_t offset, uint64_t length) override;

 private:
  Attachment(platform::BucketDirectory directory, platform::SegmentFile file,
             const AttachOptions& options);

  bool Uses(const platform::SegmentFile& file) const;
  const char* FindWhyLost() const;
  bool WasReaped() const;
  bool IsOfTheFuture(segment::ProcessRef process) const;
  Status Join(const AttachOptions& options);
  Status ClaimSlot();
  bool HasNoAgents() const;
  bool TryClaimSlot(uint32_t slot, bool only_clean, Status& failure);

  platform::BucketDirectory directory_;
  platform::SegmentFile file_;
  const std::string path_;  // of the segment file
  const std::string bucket_;
  const uint32_t user_id_ = platform::EffectiveUserId();
  segment::Segment segment_;
  segment::Backing backing_;
  std::optional<platform::SlotLock> slot_lock_;
  std::optional<platform::Doorbell> lifeline_;
  segment::ProcessRef self_;
  const uint32_t clock_id_;
  PeerDoorbells peer_doorbells_;
  std::optional<LockManager> manager_;
  std::optional<BackgroundWorker> worker_;
  std::atomic<bool> is_forked_child_{false};
  std::atomic<const char*> why_lost_{nullptr};  // null: it is connected
  std::atomic<uint64_t> next_look_ns_{0};
  platform::ForkGuard fork_guard_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_ATTACHMENT_H_
