// The slots of processes and the entries of agents in the segment. Claims the slot and the entries
// of this process, and checks with the kernel whether the process of another slot lives.
#ifndef HOLDFAST_CORE_PROCESS_SLOTS_H_
#define HOLDFAST_CORE_PROCESS_SLOTS_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "platform/bucket_directory.h"
#include "platform/result.h"
#include "platform/segment_file.h"
#include "platform/slot_lock.h"
#include "segment/owner.h"
#include "segment/segment.h"

namespace holdfast::core {

class ProcessSlots {
 public:
  // Both outlive the object.
  ProcessSlots(const platform::BucketDirectory& directory, segment::Segment& segment)
      : directory_(directory), segment_(segment) {}
  ProcessSlots(const ProcessSlots&) = delete;
  ProcessSlots& operator=(const ProcessSlots&) = delete;
  ~ProcessSlots() = default;

  // Opens the file `name` in the directory for the slot locks. kClosed: it is not `mapped`. Fails
  // if the system does not say which processes live.
  Status Open(const char* name, const platform::SegmentFile& mapped);
  // Whether the slot locks are on this file. REQUIRES: Open() has succeeded.
  bool AreOn(const platform::SegmentFile& file) const;
  // Claims a slot for this process. kTooManyAgents: all are taken.
  Status Claim();
  // Gives the slot up, if this process has claimed one.
  void Leave();
  // The descriptor of the slot locks. REQUIRES: Open() has succeeded.
  platform::SlotLock& lock() { return *slot_lock_; }
  const platform::SlotLock& lock() const { return *slot_lock_; }

  // Generation 0 until Claim() has succeeded.
  const segment::ProcessRef& self() const { return self_; }
  // Whether the descriptor of the slot locks was closed by something else in this process.
  bool IsLockClosed() const { return !slot_lock_->IsIntact(self_.slot); }
  // Whether a peer has taken this process for dead, and ended everything of it.
  bool WasReaped() const;

  // Checks with the kernel. True if the kernel does not answer, or if corruption names a process
  // that never existed.
  bool IsAlive(segment::ProcessRef process);
  // Whether IsAlive() has found since the last call that the descriptor was closed.
  bool TakeFault() {
    if (!found_fault_.load(std::memory_order_relaxed)) return false;
    return found_fault_.exchange(false, std::memory_order_relaxed);
  }

  // An agent entry of this process. kTooManyAgents: all are taken.
  Result<segment::AgentRef> ClaimAgent(const uint64_t (&client_id)[2], uint32_t thread_id);
  void ReleaseAgent(const segment::AgentRef& agent);

 private:
  bool TryClaim(uint32_t slot, bool only_clean, Status& failure);
  bool HasNoAgents() const;
  // Whether records of some shard are in the lists of this agent entry.
  bool HasRecords(uint16_t agent) const;
  bool IsOfTheFuture(segment::ProcessRef process) const;

  const platform::BucketDirectory& directory_;
  segment::Segment& segment_;
  std::optional<platform::SlotLock> slot_lock_;
  segment::ProcessRef self_;
  std::atomic<bool> found_fault_{false};
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_PROCESS_SLOTS_H_
