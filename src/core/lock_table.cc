#include "core/lock_table.h"

#include <algorithm>
#include <utility>

#include "core/blockers.h"
#include "core/combiner.h"
#include "core/extents.h"
#include "core/hold_limits.h"
#include "core/shard_timeouts.h"
#include "segment/biased_record.h"
#include "segment/record_pool.h"
#include "segment/repair.h"
#include "segment/request_list.h"
#include "segment/watch_ring.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::kNoCell;
using segment::ProcessRef;
using segment::RequestCell;
using segment::ShardLock;
using segment::ShardView;

namespace {

// The next thread that enters repairs the corruption, so a second attempt finds none, unless a
// program keeps overwriting the segment.
constexpr int kAttempts = 3;
// The maximum number of records freed per entry, so that peers can use the shard in between.
constexpr int kRecordsPerEntry = 128;

[[gnu::cold]] Status Broken() {
  return Status(StatusCode::kSegmentBroken, "the segment is corrupted faster than it is repaired");
}

[[gnu::cold]] Status NoSuchShard() {
  return Status(StatusCode::kSegmentBroken, "a record of no shard: the segment is corrupted");
}

// For more shards of an owner that is stopped. A dead owner's are taken over.
uint64_t NoLonger(uint64_t timeout_ns) { return std::min(timeout_ns, kBriefNs); }

void CountChange(segment::ShardHeader& shard) { shard.changes.Set(shard.changes.Get() + 1); }

}  // namespace

Result<ShardLock> LockTable::Enter(uint32_t shard, WakeQueue& wake_queue, uint64_t timeout_ns) {
  Result<ShardLock> lock = EnterForRead(shard, wake_queue, timeout_ns);
  // Before any other store: a reader that has seen a change also sees the new number.
  if (lock.ok()) CountChange(segment_.shard(shard));
  return lock;
}

Result<ShardLock> LockTable::EnterForRead(uint32_t shard, WakeQueue& wake_queue,
                                          uint64_t timeout_ns) {
  // One variable for all returns, so that it is constructed in the caller's place and never moved.
  Result<ShardLock> lock = shard < segment_.geometry().shards
                               ? ShardLock::Enter(segment_, shard, self_, host_, timeout_ns)
                               : NoSuchShard();
  if (!lock.ok()) return lock;
  lock->SetPublicationHandler(*this);
  if (lock->NeedsRepair()) Repair(shard, wake_queue);
  // Earlier operations are executed first.
  if (segment_.shard(shard).publications.Get() != kNoCell) Combine(shard, wake_queue);
  return lock;
}

[[gnu::cold]] void LockTable::Repair(uint32_t shard, WakeQueue& wake_queue) {
  const ShardView view(segment_, shard);
  CountChange(view.header());
  const std::vector<OperationRef> operations = segment::FindOperations(view);
  std::vector<bool> concerned(segment_.geometry().agents);
  const auto add_concerned = [&] {
    for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
      if (segment_.agent_list(i, shard).Get() != kNoCell) concerned[i] = true;
    }
  };
  add_concerned();
  const std::vector<CellId> names = segment::ShardRepair(view, host_).Run();
  view.header().dirty.Set(0);
  ShardRules rules(view, wake_queue);
  for (const CellId name : names) rules.ProcessLockRequestQueue(name);
  ExecuteAfterRepair(view, wake_queue, operations);
  add_concerned();
  segment::NoteAgentsOf(view, concerned);
  // Not before: a rescan must find the grants. If this thread dies before, the next owner repairs.
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    if (concerned[i]) wake_queue.AddRescan(static_cast<uint16_t>(i));
  }
}

Result<RequestReply> LockTable::Request(const segment::AgentRef& agent,
                                        const segment::ResourceName& name,
                                        const RequestParams& request, uint64_t timeout_ns) {
  const uint32_t shard = name.ShardIn(segment_);
  const ShardView view(segment_, shard);
  for (int attempt = 0; attempt < kAttempts;) {
    RequestReply reply;
    bool is_corrupted = false;
    {
      WakeQueue wake_queue(segment_, host_);
      Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
      if (!lock.ok()) return lock.status();
      reply = ShardRules(view, wake_queue).Request(agent, name, request);
      is_corrupted = view.header().dirty.Get() != 0;
    }
    if (is_corrupted) {
      ++attempt;
      if (reply.record.cell == kNoCell) continue;
      const Result<RequestReply> found = Recover(reply.record, timeout_ns);
      // The repair makes the agent read its records again, and end the records that it does not
      // own.
      if (!found.ok()) return found.status();
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

// The shard was corrupted while a request was placed. Finds out whether its record exists.
[[gnu::cold]] Result<RequestReply> LockTable::Recover(const RecordRef& record,
                                                      uint64_t timeout_ns) {
  WakeQueue wake_queue(segment_, host_);
  Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(segment_, record.shard);
  const RequestCell* const request = RequestOf(view, record);
  return request == nullptr ? RequestReply{} : ReplyFromRecord(view, record, *request);
}

[[gnu::cold]] Status LockTable::Grow(uint32_t shard, uint32_t cells, uint64_t timeout_ns) {
  ExtentGrowth growth(segment_, host_, self_);
  Result<std::vector<uint32_t>> extents = growth.Claim(cells);
  if (IsForWantOfRoom(extents.status()) && ReclaimExtents(*this, timeout_ns) > 0) {
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

Result<CellState> LockTable::End(const RecordRef& record, uint64_t timeout_ns, EndReason reason,
                                 CellState& state) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(segment_, record.shard);
    RequestCell* const request = RequestOf(view, record);
    if (request == nullptr) return state;
    // A late holder receives kExpired, even if no peer has expired the lock.
    const bool is_late = request->hold_limit_ns.Get() != 0 && IsHeldTooLong(*request, host_);
    state = is_late ? CellState::kExpired : request->state.Get();
    ShardRules(view, wake_queue).End(record.cell, *request, is_late ? EndReason::kExpired : reason);
    if (view.header().dirty.Get() == 0) return state;
  }
  return Broken();
}

Result<bool> LockTable::EndOrBias(const RecordRef& record, uint64_t timeout_ns, CellState& state) {
  {
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(segment_, record.shard);
    RequestCell* const request = RequestOf(view, record);
    if (request == nullptr) return false;
    state = request->state.Get();
    const bool may_be_biased = state == CellState::kHeld || segment::IsBiased(state);
    if (may_be_biased && request->hold_limit_ns.Get() == 0) {
      const bool is_biased = ShardRules(view, wake_queue).EndOrBias(record.cell, *request);
      if (view.header().dirty.Get() == 0) return is_biased;
    }
  }
  const Result<CellState> ended = End(record, timeout_ns, EndReason::kReleased, state);
  if (!ended.ok()) return ended.status();
  return false;
}

[[gnu::cold]] Result<segment::Contention> LockTable::WatchContention(const RecordRef& record,
                                                                     bool posts,
                                                                     uint64_t timeout_ns) {
  WakeQueue wake_queue(segment_, host_);
  Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(segment_, record.shard);
  RequestCell* const request = RequestOf(view, record);
  if (request == nullptr) return segment::Contention::kNone;
  return ShardRules(view, wake_queue).WatchContention(record.cell, *request, posts);
}

[[gnu::cold]] Status LockTable::ChangePriority(const RecordRef& record, Priority priority,
                                               uint64_t timeout_ns) {
  WakeQueue wake_queue(segment_, host_);
  Result<ShardLock> lock = Enter(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(segment_, record.shard);
  RequestCell* const request = RequestOf(view, record);
  if (request == nullptr) return Status();
  ShardRules(view, wake_queue).ChangePriority(record.cell, *request, priority);
  return view.header().dirty.Get() == 0 ? Status() : Broken();
}

// A busy shard does not keep the others from being processed.
[[gnu::cold]] Status LockTable::TerminateAgent(const segment::AgentRef& agent, uint64_t timeout_ns,
                                               EndReason reason, bool has_operations) {
  Status result;
  for (uint32_t shard = 0; shard < segment_.geometry().shards; ++shard) {
    const Status done = TerminateInShard(agent, shard, timeout_ns, reason, has_operations);
    if (done.ok()) continue;
    // Busy means that another call may finish this: no other error may hide it.
    if (result.code() != StatusCode::kBusy) result = done;
    // The owner of this shard may be the owner of others, too.
    if (done.code() == StatusCode::kBusy) timeout_ns = NoLonger(timeout_ns);
  }
  segment::WatchRegistry(segment_).Remove(agent);
  return result;
}

[[gnu::cold]] Status LockTable::TerminateInShard(const segment::AgentRef& agent, uint32_t shard,
                                                 uint64_t timeout_ns, EndReason reason,
                                                 bool has_operations) {
  const ShardView view(segment_, shard);
  const segment::AgentList list(view, agent.index);
  for (int attempt = 0; attempt < kAttempts;) {
    const bool may_find_more = has_operations && MayFindMore(shard);
    if (!may_find_more && list.First() == kNoCell) return Status();
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    ShardRules rules(view, wake_queue);
    for (int i = 0; i < kRecordsPerEntry && list.First() != kNoCell; ++i) {
      RequestCell* const request = view.RequestAt(list.First());
      if (request == nullptr || request->agent.Get() != agent.index) view.MarkCorrupted();
      if (view.header().dirty.Get() != 0) break;
      if (request->agent_generation.Get() != agent.generation) {
        // A new agent has the entry, so nothing of the old one was left. Else it is corruption.
        if (segment_.AgentAt(agent.index) != agent) return Status();
        view.MarkCorrupted();
        break;
      }
      // This agent takes no more events, so its records need not become zombies.
      request->event_next.Set(segment::kNotLinked);
      rules.End(list.First(), *request, reason);
    }
    if (view.header().dirty.Get() != 0) {
      ++attempt;
    } else {
      has_operations = false;  // entering has executed them
    }
  }
  return Broken();
}

// Whether an operation of the agent may still become a record. Checks the publication list first:
// an owner that takes operations puts their records into the lists before it unlocks. If corruption
// prevents that, the owner marks the corruption. A repair removes that mark first, so the lock
// comes once more.
[[gnu::cold]] bool LockTable::MayFindMore(uint32_t shard) const {
  segment::ShardHeader& header = segment_.shard(shard);
  return segment::HasOperations(header) || header.lock_word.LoadSeqCst() != 0 ||
         header.dirty.Acquire() != 0 || header.lock_word.LoadSeqCst() != 0;
}

[[gnu::cold]] Status LockTable::ReapInShard(ProcessRef process, uint32_t shard,
                                            uint64_t timeout_ns) {
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const segment::AgentRef agent = segment_.AgentAt(i);
    if (agent.process != process) continue;
    const Status done =
        TerminateInShard(agent, shard, timeout_ns, EndReason::kOwnerDied, /*has_operations=*/true);
    if (!done.ok()) return done;
  }
  return Status();
}

// The reaper may die at any point. The next one finds each entry that is not free, and its files by
// it. So the files are removed first.
[[gnu::cold]] Status LockTable::Reap(ProcessRef process, uint64_t timeout_ns, ReapProgress& rest) {
  if (process.slot >= segment_.geometry().processes) return Status();
  Status result;
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const segment::AgentRef agent = segment_.AgentAt(i);
    // Includes earlier processes of the slot: their reaper may have died, too.
    const bool is_of_process = agent.process.generation != 0 &&
                               agent.process.slot == process.slot &&
                               agent.process.generation <= process.generation;
    if (!is_of_process) continue;
    const Status done = TerminateAgent(agent, timeout_ns);
    if (!done.ok()) {
      if (result.code() != StatusCode::kBusy) result = done;
      if (done.code() == StatusCode::kBusy) timeout_ns = NoLonger(timeout_ns);
      continue;
    }
    host_.RemoveDoorbell(agent);
    uint64_t owner = agent.process.ToWord();
    segment_.agent(i).owner.CompareExchange(owner, 0);
  }
  const bool is_first_time = !std::exchange(rest.has_begun, true);
  const bool was_busy = std::exchange(rest.was_busy, !result.ok());
  const bool is_free_at_last = was_busy && result.ok();
  // All agents have ended, here or in another process. A thread inside a shard may not have seen
  // that.
  if (is_first_time || is_free_at_last) AddLockedShards(rest.shards);
  // The process may have died before it rang. A shard that it died inside is repaired, rescanned.
  if (PassShards(rest.shards, timeout_ns) || is_first_time || is_free_at_last) {
    WakeQueue(segment_, host_).AddUnrung();
  }
  if (!result.ok()) return result;
  if (!rest.shards.empty()) return Status(StatusCode::kBusy, "a thread is still inside a shard");
  host_.RemoveLifeline(process);
  NoteCleaned(process);
  return Status();
}

// Several processes may reap one process. The last of them may come when a later process of the
// slot has been reaped: the word must not go back. A corrupted word, of a process that never
// existed, is replaced.
[[gnu::cold]] void LockTable::NoteCleaned(ProcessRef process) {
  segment::ProcessEntry& entry = segment_.process(process.slot);
  uint32_t cleaned = entry.cleaned_generation.Get();
  const uint32_t newest = entry.generation.Acquire();
  const auto is_later = [&] { return newest - cleaned < newest - process.generation; };
  while (!is_later() && !entry.cleaned_generation.CompareExchange(cleaned, process.generation)) {
  }
}

[[gnu::cold]] void LockTable::AddLockedShards(std::vector<uint32_t>& shards) const {
  for (uint32_t shard = 0; shard < segment_.geometry().shards; ++shard) {
    const bool is_new = std::find(shards.begin(), shards.end(), shard) == shards.end();
    // Ordered after the ends of the agents: a thread that takes the lock from here on sees them.
    if (is_new && segment_.shard(shard).lock_word.LoadRmw() != 0) shards.push_back(shard);
  }
}

// Waits until the owners of these shard locks have left; returns whether one has. If the dead
// process is the owner, entering takes the lock over and repairs. Another owner may be reaping the
// dead process, and may die before it wakes the agents that it grants. Once it has left the shard,
// its changes are complete, so a later rescan finds them.
[[gnu::cold]] bool LockTable::PassShards(std::vector<uint32_t>& shards, uint64_t timeout_ns) {
  return std::erase_if(shards, [&](uint32_t shard) {
           if (!segment::LockWord(segment_, shard).IsLocked()) return true;
           WakeQueue wake_queue(segment_, host_);
           const bool is_passed = Enter(shard, wake_queue, timeout_ns).ok();
           if (!is_passed) timeout_ns = NoLonger(timeout_ns);
           return is_passed;
         }) > 0;
}

[[gnu::cold]] Status LockTable::Rescan(const segment::AgentRef& agent, uint32_t shard,
                                       RescanPosition& position, std::vector<RecordEvent>& records,
                                       std::vector<RecordEvent>& popped, uint64_t timeout_ns) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    WakeQueue wake_queue(segment_, host_);
    Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    TakeEvents(segment_, agent.index, popped);
    ReadRecords(agent.index, ShardView(segment_, shard), wake_queue, position, records);
    if (segment_.shard(shard).dirty.Get() == 0) return Status();
    // Records that were read before the corruption was found are read twice.
    position = {};
  }
  return Broken();
}

// Continues after the last record. If that has gone, begins again, and reads more, so that the
// rescan ends.
[[gnu::cold]] void LockTable::ReadRecords(uint16_t agent, const ShardView& view,
                                          WakeQueue& wake_queue, RescanPosition& position,
                                          std::vector<RecordEvent>& records) {
  ShardRules rules(view, wake_queue);
  CellId id = segment_.agent_list(agent, view.index()).Get();
  if (position.last.cell != kNoCell) {
    const RequestCell* const last = RequestOf(view, position.last);
    const bool is_there = last != nullptr && last->agent.Get() == agent;
    if (is_there) {
      id = last->agent_next.Get();
    } else {
      position.max_records = std::min(2 * position.max_records, view.MaxCells());
      position.steps = 0;
    }
  }
  for (uint32_t i = 0; id != kNoCell && i < position.max_records; ++i) {
    RequestCell* const request = view.RequestAt(id);
    const bool is_valid = request != nullptr && request->agent.Get() == agent;
    if (!is_valid || position.steps++ > view.MaxCells()) return view.MarkCorrupted();
    const CellId next = request->agent_next.Get();
    // The event list was just empty, and no thread pushes into it from this shard. So a mark that
    // remains was left by a process that died while pushing.
    request->event_next.Exchange(segment::kNotLinked);
    if (request->state.Get() == CellState::kZombie) {
      rules.End(id, *request);
    } else {
      const Blocker blocker = BlockerOf(view, *request);
      records.push_back(ReadEvent(segment_, id, *request));
      records.back().may_be_blocked_by_others = blocker.several || blocker.process != self_;
      position.last = records.back().record;
    }
    id = next;
  }
  position.is_complete = id == kNoCell;
}

// How the lock table uses the publication lists of the shards (segment/publication_list.h).

using segment::OperationCell;
using segment::OperationState;

namespace {

// Bounds the rounds, so that a steady flow does not keep this thread; deferred entries execute the
// rest (deferred_entry.h).
constexpr int kMaxRounds = 16;

}  // namespace

void LockTable::Publish(CellId id, OperationCell& operation) {
  const uint32_t shard = operation.shard.Get();
  segment::PushOperation(segment_, id, operation);
  // Their agents would overtake it.
  segment::RevokeBiased(segment_, operation.agent.Get(), shard);
  // The owner checks the publication list after it unlocks: one of the two threads sees the other.
  CombineIfUnlocked(shard);
}

void LockTable::CombineIfUnlocked(uint32_t shard) {
  for (int round = 0; round < kMaxRounds; ++round) {
    {
      WakeQueue wake_queue(segment_, host_);
      const Result<ShardLock> lock = ShardLock::TryEnter(segment_, shard, self_, host_);
      if (!lock.ok()) return;
      if (lock->NeedsRepair()) return;  // the deferred entries of the operations repair
      Combine(shard, wake_queue);
    }
    if (!segment::HasOperations(segment_.shard(shard))) return;
  }
}

// Inside the shard. Corruption is repaired at once, which executes what is still pending.
void LockTable::Combine(uint32_t shard, WakeQueue& wake_queue) {
  const ShardView view(segment_, shard);
  view.header().changes.Set(view.header().changes.Get() + 1);
  Combiner combiner(view, wake_queue, self_);
  segment::PublicationReader publications(view);
  CellId id = segment::kNoCell;
  while (OperationCell* const operation = publications.Next(id)) {
    combiner.Execute(id, *operation, Combiner::Occasion::kPublished);
  }
  if (view.header().dirty.Get() != 0) Repair(shard, wake_queue);
}

// The owner may have died before it pushed its operation into the publication list. The process
// that reaps it may have passed this shard already, and would not see the record.
[[gnu::cold]] bool LockTable::IsOwnerDead(const OperationCell& operation) const {
  const segment::AgentRef agent = segment::AgentOf(segment_, operation);
  return agent.generation != 0 && !host_.IsAlive(agent.process);
}

[[gnu::cold]] void LockTable::ExecuteAfterRepair(const ShardView& view, WakeQueue& wake_queue,
                                                 const std::vector<OperationRef>& operations) {
  Combiner combiner(view, wake_queue, self_);
  for (const OperationRef& found : operations) {
    OperationCell* const operation = segment::PendingOperation(view, found);
    if (operation == nullptr) continue;
    if (IsOwnerDead(*operation)) {
      operation->state.Publish(OperationState::kExecuted);
      continue;
    }
    if (!combiner.Execute(found.id, *operation, Combiner::Occasion::kRepair)) return;
  }
}

[[gnu::cold]] Status LockTable::ExecutePublished(uint32_t shard,
                                                 const std::vector<OperationRef>& operations,
                                                 uint64_t timeout_ns) {
  WakeQueue wake_queue(segment_, host_);
  const Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(segment_, shard);
  Combiner combiner(view, wake_queue, self_);
  for (const OperationRef& lost : operations) {
    OperationCell* const operation = segment::PendingOperation(view, lost);
    if (operation == nullptr) continue;
    combiner.Execute(lost.id, *operation, Combiner::Occasion::kRepair);
  }
  return Status();
}

}  // namespace holdfast::core
