// The rules of the standard, on one shard, inside its lock. Each function is one step of a
// specification algorithm; docs/shared-memory.md says what a crash in each of them leaves behind.
//
// A step that finds corruption marks the shard and stops; the next process to enter repairs it.
#ifndef HOLDFAST_CORE_SHARD_RULES_H_
#define HOLDFAST_CORE_SHARD_RULES_H_

#include "core/request_params.h"
#include "core/wake_queue.h"
#include "segment/name_table.h"
#include "segment/shard_view.h"

namespace holdfast::core {

class ShardRules {
 public:
  ShardRules(segment::ShardView shard, WakeQueue& wake_queue)
      : shard_(shard), wake_queue_(wake_queue) {}

  // "Request a lock" (#algorithm-request-lock), the steps on the lock task queue. The caller must
  // then check whether the shard is marked as corrupted.
  RequestReply Request(const segment::AgentRef& agent, const segment::ResourceName& name,
                       const RequestParams& request);

  // Ends a request in any state: waiting ("abort the request", #algorithm-abort-request), held
  // ("release the lock", #algorithm-release-lock), lost.
  void End(segment::CellId id, segment::RequestCell& request,
           EndReason ending = EndReason::kReleased);

  // Ends a held lock like End(), but biases its record to its agent if no other agent is concerned
  // (segment/biased_record.h). True: it is biased. By the thread of its agent.
  bool EndOrBias(segment::CellId id, segment::RequestCell& request);

  // Takes a held lock whose hold limit has passed. Beyond the standard; like a steal without a
  // stealer.
  void Expire(segment::CellId id, segment::RequestCell& request);

  // Moves a waiting request to the position of its new priority. Beyond the standard.
  void ChangePriority(segment::CellId id, segment::RequestCell& request, Priority priority);

  // Notifies the agent of a held lock, from now on, when the highest priority that waits for the
  // lock changes. Returns that priority, and posts it if a request waits and `posts`. kNone if the
  // lock is lost.
  segment::Contention WatchContention(segment::CellId id, segment::RequestCell& request,
                                      bool posts);

  // "Process the lock request queue" (#algorithm-process-request). Then frees the name
  // if it is unused.
  void ProcessLockRequestQueue(segment::CellId name_id);

 private:
  void Settle(segment::NameCell& name);
  void EndOther(segment::CellId id, segment::RequestCell& request, EndReason reason);
  void RemoveIfUnused(segment::CellId name_id, segment::NameCell& name);
  void SettleNameOf(segment::CellId id, const segment::RequestCell& request);
  bool HasWaiting(const segment::NameCell& name, uint32_t count) const;
  // The waiting request that one of this priority and age goes behind; kNoCell: it goes first.
  segment::CellId PredecessorOf(const segment::NameCell& name, Priority priority,
                                uint64_t ticket) const;
  void PassWaiting(const segment::NameCell& name, segment::CellId predecessor,
                   segment::RequestCell& request);
  static void CountOvertake(segment::RequestCell& waiting, const segment::RequestCell& request);
  segment::CellId PassBefore(const segment::RequestCell& request);
  segment::CellId LetPass(segment::CellId id, const segment::RequestCell& request) const;
  void Renumber(const segment::NameCell& name, segment::CellId predecessor,
                segment::RequestCell& request);
  void ReportPassed(const segment::RequestCell& request, segment::CellId next_id);
  bool PutInQueue(segment::CellId id, segment::RequestCell& request, segment::NameCell& name);
  bool MayBeBiased(const segment::RequestCell& request, const segment::NameCell& name) const;
  void Steal(segment::CellId id, segment::RequestCell& stealer, segment::NameCell& name);
  void WakeBeforeSteal(const segment::RequestCell& stealer, const segment::NameCell& name);
  void Enqueue(segment::CellId id, segment::RequestCell& request, segment::NameCell& name);
  bool AddHeld(segment::CellId id, segment::RequestCell& request, segment::NameCell& name);
  bool RemoveFromQueue(segment::CellId id, segment::RequestCell& request, segment::NameCell& name);
  bool RemoveHeld(segment::CellId id, segment::RequestCell& request, segment::NameCell& name);
  bool Leave(const segment::RequestCell& request, segment::NameCell& name);
  bool Grant(segment::CellId id, segment::RequestCell& request, segment::NameCell& name);
  void EndHeld(segment::CellId id, segment::RequestCell& request, segment::NameCell& name,
               EndReason reason);
  void EndWaiting(segment::CellId id, segment::RequestCell& request, segment::NameCell& name,
                  EndReason reason);
  void Free(segment::CellId id, segment::RequestCell& request);
  void PostEvent(segment::CellId id, segment::RequestCell& request);
  void PostIfBlockerChanged(segment::CellId id);
  // `most`: no request that waits has a higher priority.
  segment::Contention HighestWaiting(const segment::NameCell& name, segment::Contention most) const;
  void ReportContention(const segment::NameCell& name, segment::Contention added);
  void ReportWaitsNoMore(const segment::NameCell& name, Priority priority);
  void SetNextWaiter(const segment::NameCell& name);
  void ReportHoldLimit(segment::CellId id);

  segment::ShardView shard_;
  WakeQueue& wake_queue_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SHARD_RULES_H_
