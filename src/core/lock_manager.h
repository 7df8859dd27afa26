// The lock table of a bucket: enters the shard of a name, applies the rules, tells who has to
// know. One object per attached process, used by all its threads; keeps no state of its own.
//
// Every call takes the longest time it may wait for a shard (`timeout_ns`) and answers kBusy when
// that was not enough, with nothing changed.
#ifndef HOLDFAST_CORE_LOCK_MANAGER_H_
#define HOLDFAST_CORE_LOCK_MANAGER_H_

#include <cstdint>
#include <vector>

#include "core/lock_request.h"
#include "core/record_event.h"
#include "core/shard_rules.h"
#include "core/wake_queue.h"
#include "platform/result.h"
#include "segment/host.h"
#include "segment/intake.h"
#include "segment/resource_name.h"
#include "segment/segment.h"
#include "segment/shard_lock.h"

namespace holdfast::core {

class LockManager final : public segment::IntakeWorker {
 public:
  LockManager(segment::Segment& segment, segment::Host& host, segment::ProcessRef self)
      : segment_(segment), host_(host), self_(self) {}

  // Asks for a lock. Grants at once when that is possible; otherwise the request waits in the queue
  // of its name, or is `kMissed` when it is one with if_available.
  // Standard: Web Locks "request a lock" (#algorithm-request-lock), on the lock task queue.
  // Errors:   kSegmentFull (nothing changed), kBusy, kSegmentBroken.
  Result<RequestReply> Request(const segment::AgentRef& agent, const segment::ResourceName& name,
                               const LockRequest& request, uint64_t timeout_ns);

  // Ends a request of this agent, whether it waits, holds, or has lost its lock, and says in which
  // of these states it was; kExpired also when its time was over and nobody had noticed. A record
  // that is no longer there (kFree) is no error. Processes the queue. Standard: "abort the request"
  // (#algorithm-abort-request), "release the lock"
  // (#algorithm-release-lock).
  Result<segment::CellState> End(const RecordRef& record, uint64_t timeout_ns,
                                 EndReason ending = EndReason::kReleased);

  // Puts an operation into the intake of its shard, for whoever is inside, and executes what is
  // there if the shard has become free meanwhile. Never waits.
  void PutIn(segment::CellId id, segment::OperationCell& operation);
  // An operation, and the number under which it was put in.
  struct OperationRef {
    segment::CellId id = segment::kNoCell;
    uint64_t number = 0;
  };
  // Enters the shard, which executes its intake, to make sure of operations that were put in
  // before. One that is still pending then was lost by damage, and is executed here.
  Status Visit(uint32_t shard, const std::vector<OperationRef>& operations, uint64_t timeout_ns);
  void WorkOffIntake(uint32_t shard) override;
  // Inside the shard: executes what has come in since.
  void SettleIntake(uint32_t shard, WakeQueue& wake_queue) {
    if (segment::HasOperations(segment_.shard(shard))) ExecuteIntake(shard, wake_queue);
  }

  // Ends everything of an agent: its thread or its process is gone, or it closes. It watches no
  // more, either. `has_operations`: it may have put something into an intake that is still there.
  // Standard: "terminate remaining locks and requests" (#agent-integration).
  Status TerminateAgent(const segment::AgentRef& agent, uint64_t timeout_ns,
                        EndReason ending = EndReason::kOwnerDied, bool has_operations = true);
  // Ends what a dead process has asked for or holds in one shard; the rest of it is for
  // ReapProcess().
  Status ReapInShard(segment::ProcessRef process, uint32_t shard, uint64_t timeout_ns);

  // What is left of a clean-up that was not to be finished at once.
  struct ReapProgress {
    bool has_begun = false;
    std::vector<uint32_t> shards;  // somebody was inside, and has not left yet
  };
  // Ends everything of a dead process and takes back what it held of the segment itself, with the
  // files that it left. kBusy: not all is done, call again with the same `rest`: nobody is made to
  // look again as long as nothing has changed.
  Status ReapProcess(segment::ProcessRef process, uint64_t timeout_ns, ReapProgress& rest);
  Status ReapProcess(segment::ProcessRef process, uint64_t timeout_ns) {
    ReapProgress rest;
    return ReapProcess(process, timeout_ns, rest);
  }

  // Reads all records of an agent in a shard again, because events may have been lost: `records` is
  // what there is, `popped` the events that were met on the way (of any shard); both may name a
  // record twice. Zombies are freed.
  // Called by the agent itself, the only one that takes its events.
  Status Rescan(const segment::AgentRef& agent, uint32_t shard, std::vector<RecordEvent>& records,
                std::vector<RecordEvent>& popped, uint64_t timeout_ns);

  segment::Segment& segment() const { return segment_; }
  segment::Host& host() const { return host_; }
  segment::ProcessRef self() const { return self_; }

  // Enters a shard and makes it whole if need be. For this class and others that change the table.
  Result<segment::ShardLock> Enter(uint32_t shard, WakeQueue& wake_queue, uint64_t timeout_ns);
  // The same for who changes nothing.
  Result<segment::ShardLock> EnterForRead(uint32_t shard, WakeQueue& wake_queue,
                                          uint64_t timeout_ns);

 private:
  void Repair(uint32_t shard, WakeQueue& wake_queue);
  void ExecuteIntake(uint32_t shard, WakeQueue& wake_queue);
  void ExecuteAfterRepair(const segment::ShardView& view, WakeQueue& wake_queue,
                          const std::vector<segment::CellId>& operations);
  Status TerminateInShard(const segment::AgentRef& agent, uint32_t shard, uint64_t timeout_ns,
                          EndReason reason, bool has_operations);
  bool MayFindMore(uint32_t shard) const;
  std::vector<uint32_t> LockedShards() const;
  bool PassShards(std::vector<uint32_t>& shards, uint64_t timeout_ns);
  Status Grow(uint32_t shard, uint32_t cells, uint64_t timeout_ns);
  Result<RequestReply> Recover(const RecordRef& record, uint64_t timeout_ns);
  void ReadRecords(uint16_t agent, const segment::ShardView& view, WakeQueue& wake_queue,
                   std::vector<RecordEvent>& records);

  segment::Segment& segment_;
  segment::Host& host_;
  segment::ProcessRef self_;
};

// The record, inside its shard; null when it is gone.
inline segment::RequestCell* RequestOf(const segment::ShardView& shard, const RecordRef& record) {
  segment::RequestCell* const request = shard.RequestAt(record.cell);
  return request != nullptr && request->ticket.Get() == record.ticket ? request : nullptr;
}

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_LOCK_MANAGER_H_
