#include "core/lock_manager.h"

#include <algorithm>
#include <utility>

#include "core/blocker_of.h"
#include "core/extent_growth.h"
#include "core/extent_reclaim.h"
#include "core/hold_limits.h"
#include "core/operation_executor.h"
#include "segment/record_pool.h"
#include "segment/repair.h"
#include "segment/request_list.h"
#include "segment/watch_registry.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::kNoCell;
using segment::ProcessRef;
using segment::RequestCell;
using segment::ShardLock;
using segment::ShardView;

namespace {

// Damage that was met is repaired by whoever enters next, so a second attempt meets none, unless
// somebody keeps writing into the segment.
constexpr int kAttempts = 3;
// So many records are freed in one go; then others may have the shard.
constexpr int kRecordsPerVisit = 128;

Status Broken() {
  return Status(StatusCode::kSegmentBroken, "the segment is damaged faster than it is repaired");
}

Status NoSuchShard() {
  return Status(StatusCode::kSegmentBroken, "a record of no shard: the segment is damaged");
}

void CountChange(segment::ShardHeader& shard) { shard.changes.Set(shard.changes.Get() + 1); }

}  // namespace

Result<ShardLock> LockManager::Enter(uint32_t shard, WakeQueue& wake_queue, uint64_t timeout_ns) {
  Result<ShardLock> lock = EnterForRead(shard, wake_queue, timeout_ns);
  // Before any other store: whoever reads this number later than a change finds it raised.
  if (lock.ok()) CountChange(segment_.shard(shard));
  return lock;
}

Result<ShardLock> LockManager::EnterForRead(uint32_t shard, WakeQueue& wake_queue,
                                            uint64_t timeout_ns) {
  // One variable for all answers is made where the caller wants it, and never moved.
  Result<ShardLock> lock = shard < segment_.geometry().shards
                               ? ShardLock::Enter(segment_, shard, self_, host_, timeout_ns)
                               : NoSuchShard();
  if (!lock.ok()) return lock;
  lock->SetIntakeWorker(*this);
  if (lock->NeedsRepair()) Repair(shard, wake_queue);
  // What was put in earlier is done earlier.
  if (segment_.shard(shard).intake.Get() != kNoCell) ExecuteIntake(shard, wake_queue);
  return lock;
}

void LockManager::Repair(uint32_t shard, WakeQueue& wake_queue) {
  const ShardView view(segment_, shard);
  CountChange(view.header());
  const std::vector<CellId> operations = segment::FindOperations(view);
  const std::vector<CellId> names = segment::ShardRepair(view, host_).Run();
  view.header().dirty.Set(0);
  ShardRules rules(view, wake_queue);
  for (const CellId name : names) rules.ProcessLockRequestQueue(name);
  ExecuteAfterRepair(view, wake_queue, operations);
  // Only now: who rescans must find the grants. Dead before: the next owner repairs again.
  wake_queue.AddRescanOfAll();
}

Result<RequestReply> LockManager::Request(const segment::AgentRef& agent,
                                          const segment::ResourceName& name,
                                          const LockRequest& request, uint64_t timeout_ns) {
  const uint32_t shard = name.ShardOf(segment_.geometry().shards);
  const ShardView view(segment_, shard);
  for (int attempt = 0; attempt < kAttempts;) {
    RequestReply reply;
    bool is_damaged = false;
    {
      WakeQueue wake_queue(segment_, host_);
      Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
      if (!lock.ok()) return lock.status();
      reply = ShardRules(view, wake_queue).Request(agent, name, request);
      is_damaged = view.header().dirty.Get() != 0;
    }
    if (is_damaged) {
      ++attempt;
      if (reply.record.cell == kNoCell) continue;
      const Result<RequestReply> found = Recover(reply.record, timeout_ns);
      // Not to be asked now: whoever repairs makes the agent read what became of its record.
      if (!found.ok()) return reply;
      if (found->record.cell != kNoCell) return found;
    } else if (reply.missing_cells == 0) {
      return reply;
    } else {
      const Status grown = Grow(shard, reply.missing_cells, timeout_ns);
      if (!grown.ok()) return grown;
    }
  }
  return Broken();
}

// The shard was damaged while a request was placed: what became of its record?
Result<RequestReply> LockManager::Recover(const RecordRef& record, uint64_t timeout_ns) {
  WakeQueue wake_queue(segment_, host_);
  Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(segment_, record.shard);
  const RequestCell* const request = RequestOf(view, record);
  return request == nullptr ? RequestReply{} : ReplyFromRecord(view, record, *request);
}

Status LockManager::Grow(uint32_t shard, uint32_t cells, uint64_t timeout_ns) {
  ExtentGrowth growth(segment_, host_, self_);
  Result<std::vector<uint32_t>> extents = growth.Claim(cells);
  if (extents.status().code() == StatusCode::kSegmentFull &&
      ReclaimExtents(*this, timeout_ns) > 0) {
    extents = growth.Claim(cells);
  }
  if (!extents.ok()) return extents.status();
  WakeQueue wake_queue(segment_, host_);
  Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
  if (!lock.ok()) {
    for (const uint32_t extent : *extents) growth.Unclaim(extent);
    return lock.status();
  }
  segment::RecordPool pool(ShardView(segment_, shard));
  for (const uint32_t extent : *extents) pool.AddExtent(extent, growth.ClaimWord());
  return Status();
}

Result<CellState> LockManager::End(const RecordRef& record, uint64_t timeout_ns, EndReason reason) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(segment_, record.shard);
    RequestCell* const request = RequestOf(view, record);
    if (request == nullptr) return CellState::kFree;
    // Whoever is late hears of it, also when nobody came to take the lock away.
    const bool is_late = request->hold_limit_ns.Get() != 0 && IsHeldTooLong(*request, host_);
    const CellState state = is_late ? CellState::kExpired : request->state.Get();
    ShardRules(view, wake_queue).End(record.cell, *request, is_late ? EndReason::kExpired : reason);
    if (view.header().dirty.Get() == 0) return state;
  }
  return Broken();
}

// A shard that is not to be had keeps nobody from the others.
Status LockManager::TerminateAgent(const segment::AgentRef& agent, uint64_t timeout_ns,
                                   EndReason reason, bool has_operations) {
  Status result;
  for (uint32_t shard = 0; shard < segment_.geometry().shards; ++shard) {
    const Status done = TerminateInShard(agent, shard, timeout_ns, reason, has_operations);
    if (done.ok()) continue;
    result = done;
    timeout_ns = 0;  // whoever is in the way here may be in the way everywhere
  }
  segment::WatchRegistry(segment_).Remove(agent);
  return result;
}

Status LockManager::TerminateInShard(const segment::AgentRef& agent, uint32_t shard,
                                     uint64_t timeout_ns, EndReason reason, bool has_operations) {
  const ShardView view(segment_, shard);
  const segment::AgentList list(view, agent.index);
  for (int attempt = 0; attempt < kAttempts;) {
    const bool may_find_more = has_operations && MayFindMore(shard);
    if (!may_find_more && list.First() == kNoCell) return Status();
    has_operations = false;  // once inside, they are executed
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    ShardRules rules(view, wake_queue);
    for (int i = 0; i < kRecordsPerVisit && list.First() != kNoCell; ++i) {
      RequestCell* const request = view.RequestAt(list.First());
      if (request == nullptr || request->agent.Get() != agent.index) view.MarkDamaged();
      if (view.header().dirty.Get() != 0) break;
      // The entry has a new bearer already: then nothing of the old one was left.
      if (request->agent_generation.Get() != agent.generation) return Status();
      // Nobody takes this agent's events any more: no zombies.
      request->event_next.Set(segment::kNotLinked);
      rules.End(list.First(), *request, reason);
    }
    if (view.header().dirty.Get() != 0) ++attempt;
  }
  return Broken();
}

// Whether what an agent has put in may still become a record of it. In this order: what was taken
// from the intake is in the lists before the lock is given back.
bool LockManager::MayFindMore(uint32_t shard) const {
  segment::ShardHeader& header = segment_.shard(shard);
  return segment::HasOperations(header) || header.lock_word.LoadSeqCst() != 0;
}

Status LockManager::ReapInShard(ProcessRef process, uint32_t shard, uint64_t timeout_ns) {
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const segment::AgentRef agent = segment_.AgentAt(i);
    if (agent.process != process) continue;
    const Status done =
        TerminateInShard(agent, shard, timeout_ns, EndReason::kOwnerDied, /*has_operations=*/true);
    if (!done.ok()) return done;
  }
  return Status();
}

// Whoever cleans up may die at any point: an entry that is not free yet is found again, and so is
// what belongs to it. So the files go first.
Status LockManager::ReapProcess(ProcessRef process, uint64_t timeout_ns, ReapProgress& rest) {
  if (process.slot >= segment_.geometry().processes) return Status();
  Status result;
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const segment::AgentRef agent = segment_.AgentAt(i);
    // Earlier bearers of the slot too: who was to clean up after them may have died itself.
    const bool is_of_process = agent.process.generation != 0 &&
                               agent.process.slot == process.slot &&
                               agent.process.generation <= process.generation;
    if (!is_of_process) continue;
    const Status done = TerminateAgent(agent, timeout_ns);
    if (!done.ok()) {
      result = done;
      timeout_ns = 0;
      continue;
    }
    host_.RemoveDoorbell(agent);
    uint64_t owner = agent.process.ToWord();
    segment_.agent(i).owner.CompareExchange(owner, 0);
  }
  const bool is_first_time = !std::exchange(rest.has_begun, true);
  if (is_first_time) rest.shards = LockedShards();
  // It may have owed events to anybody.
  if (PassShards(rest.shards, timeout_ns) || is_first_time) {
    WakeQueue(segment_, host_).AddRescanOfAll();
  }
  if (!result.ok()) return result;
  if (!rest.shards.empty()) return Status(StatusCode::kBusy, "somebody is still inside a shard");
  host_.RemoveLifeline(process);
  segment_.process(process.slot).cleaned_generation.Publish(process.generation);
  return Status();
}

std::vector<uint32_t> LockManager::LockedShards() const {
  std::vector<uint32_t> shards;
  for (uint32_t shard = 0; shard < segment_.geometry().shards; ++shard) {
    if (segment::LockWord(segment_, shard).IsLocked()) shards.push_back(shard);
  }
  return shards;
}

// Waits until whoever was inside has left, and says whether somebody has. If the dead process is
// inside: entering takes the lock over and repairs. If somebody else is, it may be ending what the
// dead has left, and may die before it tells those whom it grants: whatever it did is done when it
// has left the shard, so who rescans after that finds it.
bool LockManager::PassShards(std::vector<uint32_t>& shards, uint64_t timeout_ns) {
  return std::erase_if(shards, [&](uint32_t shard) {
           if (!segment::LockWord(segment_, shard).IsLocked()) return true;
           WakeQueue wake_queue(segment_, host_);
           const bool is_passed = Enter(shard, wake_queue, timeout_ns).ok();
           if (!is_passed) timeout_ns = 0;
           return is_passed;
         }) > 0;
}

Status LockManager::Rescan(const segment::AgentRef& agent, uint32_t shard,
                           std::vector<RecordEvent>& records, std::vector<RecordEvent>& popped,
                           uint64_t timeout_ns) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    TakeEvents(segment_, agent.index, popped);
    ReadRecords(agent.index, ShardView(segment_, shard), wake_queue, records);
    // What was read before the damage was met may be read twice.
    if (segment_.shard(shard).dirty.Get() == 0) return Status();
  }
  return Broken();
}

void LockManager::ReadRecords(uint16_t agent, const ShardView& view, WakeQueue& wake_queue,
                              std::vector<RecordEvent>& records) {
  ShardRules rules(view, wake_queue);
  CellId id = segment_.agent_list(agent, view.index()).Get();
  for (uint32_t steps = 0; id != kNoCell; ++steps) {
    RequestCell* const request = view.RequestAt(id);
    const bool is_sound = request != nullptr && request->agent.Get() == agent;
    if (!is_sound || steps > view.MaxCells()) return view.MarkDamaged();
    const CellId next = request->agent_next.Get();
    // The list of events was empty a moment ago and nobody pushes into it from this shard: a mark
    // that is still there was left by somebody who died while pushing.
    request->event_next.Exchange(segment::kNotLinked);
    if (request->state.Get() == CellState::kZombie) {
      rules.End(id, *request);
    } else {
      const Blocker blocker = BlockerOf(view, *request);
      records.push_back(ReadEvent(segment_, id, *request));
      records.back().may_be_blocked_by_others = blocker.several || blocker.process != self_;
    }
    id = next;
  }
}

}  // namespace holdfast::core
