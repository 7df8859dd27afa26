// The lock table of a bucket: enters the shard of a name, applies the rules, wakes the agents
// concerned. One object per attached process, used by all its threads; without private state.
//
// Every call takes the maximum time to wait for a shard (`timeout_ns`). If the time passes, it
// returns kBusy and has changed nothing. With kNoWait the call repairs nothing: it is kBusy, too,
// if the owner of the shard has died inside or the shard is corrupted.
#ifndef HOLDFAST_CORE_LOCK_TABLE_H_
#define HOLDFAST_CORE_LOCK_TABLE_H_

#include <cstdint>
#include <vector>

#include "core/record_event.h"
#include "core/request_params.h"
#include "core/shard_rules.h"
#include "core/wake_queue.h"
#include "platform/result.h"
#include "segment/host.h"
#include "segment/lock_word.h"
#include "segment/publication_list.h"
#include "segment/resource_name.h"
#include "segment/segment.h"

namespace holdfast::core {

class LockTable final : public segment::PublicationHandler {
 public:
  LockTable(segment::Segment& segment, segment::Host& host, segment::ProcessRef self)
      : segment_(segment), host_(host), self_(self) {}

  // Requests a lock. Grants it at once if possible. Otherwise the request waits in the queue of its
  // name, or is `kMissed` if more than max_pending requests would wait then.
  // Standard: Web Locks "request a lock" (#algorithm-request-lock), on the lock task queue.
  // Errors:   kSegmentFull, kNoSpace (nothing changed), kBusy, kSegmentBroken.
  Result<RequestReply> Request(const segment::AgentRef& agent, const segment::ResourceName& name,
                               const RequestParams& request, uint64_t timeout_ns);

  // Ends a request of this agent that waits, holds, or has lost its lock, and returns which of
  // these it was. kExpired also if the hold limit had passed unnoticed. A record that no longer
  // exists (kFree) is no error. Processes the queue. Standard: "abort the request"
  // (#algorithm-abort-request), "release the lock" (#algorithm-release-lock).
  Result<segment::CellState> End(const RecordRef& record, uint64_t timeout_ns,
                                 EndReason ending = EndReason::kReleased) {
    segment::CellState state = segment::CellState::kFree;
    return End(record, timeout_ns, ending, state);
  }
  // The same, and sets `state` also if it fails. Corruption elsewhere in the shard may be found
  // after the end, and the shard is busy then. If the record is gone, `state` keeps its value.
  Result<segment::CellState> End(const RecordRef& record, uint64_t timeout_ns, EndReason ending,
                                 segment::CellState& state);

  // Like End() of a held lock that is released, but biases the record if no other agent is
  // concerned; returns whether it did.
  Result<bool> EndOrBias(const RecordRef& record, uint64_t timeout_ns, segment::CellState& state);

  // See ShardRules.
  Result<segment::Contention> WatchContention(const RecordRef& record, bool posts,
                                              uint64_t timeout_ns);

  // See ShardRules. The record may have gone.
  Status ChangePriority(const RecordRef& record, Priority priority, uint64_t timeout_ns);

  // Puts an operation into the publication list of its shard, for the owner of the shard lock. If
  // the shard has become free, executes the publication list. Never waits.
  void Publish(segment::CellId id, segment::OperationCell& operation);
  using OperationRef = segment::OperationRef;
  // Enters the shard, which executes its publication list, and so these operations. An operation
  // that is still pending afterwards was lost by corruption, and is executed here.
  Status ExecutePublished(uint32_t shard, const std::vector<OperationRef>& operations,
                          uint64_t timeout_ns);
  void CombineIfUnlocked(uint32_t shard) override;

  // Ends everything of an agent whose thread or process has ended, or which closes: requests, locks
  // and watches. `has_operations`: a publication list may still have operations of it.
  // Standard: "terminate remaining locks and requests" (#agent-integration).
  Status TerminateAgent(const segment::AgentRef& agent, uint64_t timeout_ns,
                        EndReason ending = EndReason::kOwnerDied, bool has_operations = true);
  // Ends the requests and locks of a dead process in one shard; Reap() ends the others.
  Status ReapInShard(segment::ProcessRef process, uint32_t shard, uint64_t timeout_ns);

  // The rest of a reaping that could not finish.
  struct ReapProgress {
    bool has_begun = false;
    bool was_busy = false;         // the thread inside may have granted a lock of the dead process
    std::vector<uint32_t> shards;  // their owner was inside and has not left yet
  };
  // Ends everything of a dead process, frees its parts of the segment, and removes its files.
  // kBusy: not finished; call again with the same `rest`. Then peers rescan again only after a
  // change.
  Status Reap(segment::ProcessRef process, uint64_t timeout_ns, ReapProgress& rest);
  Status Reap(segment::ProcessRef process, uint64_t timeout_ns) {
    ReapProgress rest;
    return Reap(process, timeout_ns, rest);
  }

  // How far the records of an agent in a shard have been read.
  struct RescanPosition {
    RecordRef last;               // none: nothing has been read
    uint32_t max_records = 1000;  // per entry into the shard
    uint32_t steps = 0;           // since the beginning
    bool is_complete = false;
  };
  // Reads the next records of an agent in a shard again, because events may have been lost.
  // `records` gets the records, `popped` the events found on the way (of any shard); both may name
  // a record twice. Frees zombies.
  // Called by the agent itself: only the agent takes its events.
  Status Rescan(const segment::AgentRef& agent, uint32_t shard, RescanPosition& position,
                std::vector<RecordEvent>& records, std::vector<RecordEvent>& popped,
                uint64_t timeout_ns);

  segment::Segment& segment() const { return segment_; }
  segment::Host& host() const { return host_; }
  segment::ProcessRef self() const { return self_; }

  // Enters a shard, and repairs it if necessary. For this class and others that change the table.
  Result<segment::ShardLock> Enter(uint32_t shard, WakeQueue& wake_queue, uint64_t timeout_ns);
  // The same for callers that change nothing.
  Result<segment::ShardLock> EnterForRead(uint32_t shard, WakeQueue& wake_queue,
                                          uint64_t timeout_ns);

 private:
  void Repair(uint32_t shard, WakeQueue& wake_queue);
  void Combine(uint32_t shard, WakeQueue& wake_queue);
  bool IsOwnerDead(const segment::OperationCell& operation) const;
  void ExecuteAfterRepair(const segment::ShardView& view, WakeQueue& wake_queue,
                          const std::vector<OperationRef>& operations);
  Status TerminateInShard(const segment::AgentRef& agent, uint32_t shard, uint64_t timeout_ns,
                          EndReason reason, bool has_operations);
  bool MayFindMore(uint32_t shard) const;
  void NoteCleaned(segment::ProcessRef process);
  void AddLockedShards(std::vector<uint32_t>& shards) const;
  bool PassShards(std::vector<uint32_t>& shards, uint64_t timeout_ns);
  Status Grow(uint32_t shard, uint32_t cells, uint64_t timeout_ns);
  Result<RequestReply> Recover(const RecordRef& record, uint64_t timeout_ns);
  void ReadRecords(uint16_t agent, const segment::ShardView& view, WakeQueue& wake_queue,
                   RescanPosition& position, std::vector<RecordEvent>& records);

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

#endif  // HOLDFAST_CORE_LOCK_TABLE_H_
