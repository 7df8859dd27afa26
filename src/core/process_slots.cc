#include "core/process_slots.h"

#include <utility>

#include "core/peer_doorbells.h"
#include "platform/process_identity.h"

namespace holdfast::core {

using segment::AgentEntry;
using segment::AgentRef;
using segment::ProcessEntry;
using segment::ProcessRef;

Status ProcessSlots::Open(const char* name, const platform::SegmentFile& mapped) {
  Result<platform::SlotLock> slot_lock = platform::SlotLock::Open(directory_, name);
  if (!slot_lock.ok()) return slot_lock.status();
  const Result<bool> matches = slot_lock->Matches(mapped);
  if (!matches.ok()) return matches.status();
  if (!*matches) {
    return Status(StatusCode::kClosed, "the segment was replaced while it was opened; try again");
  }
  // Once: if the system does not answer, every process counts as alive, and the locks of the
  // dead would stay held.
  constexpr uint32_t kAnySlot = 0;
  const Result<bool> is_claimed = slot_lock->IsClaimed(kAnySlot);
  if (!is_claimed.ok()) return is_claimed.status();
  slot_lock_.emplace(std::move(*slot_lock));
  return Status();
}

bool ProcessSlots::AreOn(const platform::SegmentFile& file) const {
  const Result<bool> matches = slot_lock_->Matches(file);
  return matches.ok() && *matches;
}

// Clean slots come first, so that the dead are reaped by the processes that wait for them.
Status ProcessSlots::Claim() {
  Status failure;
  for (const bool only_clean : {true, false}) {
    for (uint32_t slot = 0; slot < segment_.geometry().processes; ++slot) {
      if (TryClaim(slot, only_clean, failure)) return Status();
      if (!failure.ok()) return failure;
    }
  }
  return Status(StatusCode::kTooManyAgents, "too many processes use this bucket");
}

bool ProcessSlots::TryClaim(uint32_t slot, bool only_clean, Status& failure) {
  ProcessEntry& entry = segment_.process(slot);
  const bool is_clean = entry.generation.Get() == entry.cleaned_generation.Get();
  if (only_clean && !is_clean) return false;
  const Result<bool> claimed = slot_lock_->TryClaim(slot);
  if (!claimed.ok()) failure = claimed.status();
  if (!claimed.ok() || !*claimed) return false;
  entry.process_id.Set(platform::ProcessId());
  entry.pid_namespace.Set(platform::PidNamespace());
  uint32_t generation = entry.generation.Get();
  // Before the next generation is known: a later claim removes the file of the newest one only.
  if (generation != 0) {
    (void)directory_.Unlink(LifelineName(segment_, {static_cast<uint16_t>(slot), generation}));
  }
  if (++generation == 0) generation = 1;
  // From here on a record with an older generation belongs to a dead process.
  entry.generation.Publish(generation);
  self_ = {static_cast<uint16_t>(slot), generation};
  return true;
}

void ProcessSlots::Leave() {
  if (self_.generation == 0) return;
  // Records that an agent could not end in time are left to peers, which find this process dead. So
  // are the remains of the process that had the slot before.
  ProcessEntry& entry = segment_.process(self_.slot);
  const bool is_predecessor_clean = entry.cleaned_generation.Acquire() == self_.generation - 1;
  if (!WasReaped() && is_predecessor_clean && HasNoAgents()) {
    entry.cleaned_generation.Publish(self_.generation);
  }
  // Must not close a number that now belongs to another file.
  if (IsLockClosed()) {
    slot_lock_->Abandon();
  } else {
    slot_lock_->Unclaim(self_.slot);
  }
}

bool ProcessSlots::HasNoAgents() const {
  for (uint32_t i = 0; i < segment_.geometry().agents; ++i) {
    const ProcessRef owner = segment_.AgentAt(i).process;
    if (owner.generation != 0 && owner.slot == self_.slot) return false;
  }
  return true;
}

bool ProcessSlots::WasReaped() const {
  const ProcessEntry& entry = segment_.process(self_.slot);
  return entry.generation.Acquire() != self_.generation ||
         entry.cleaned_generation.Acquire() == self_.generation;
}

// A generation that was never claimed: corruption, which proves no death.
bool ProcessSlots::IsOfTheFuture(ProcessRef process) const {
  if (process.generation == 0 || process.slot >= segment_.geometry().processes) return false;
  const uint32_t newest = segment_.process(process.slot).generation.Acquire();
  return process.generation - newest < UINT32_MAX / 2;
}

bool ProcessSlots::IsAlive(ProcessRef process) {
  if (!segment_.IsNewest(process)) return IsOfTheFuture(process);
  if (process.slot == self_.slot) return true;
  const Result<bool> claimed = slot_lock_->IsClaimed(process.slot);
  if (!claimed.ok() || *claimed) return true;
  // Through a descriptor of another file, every process would look dead.
  if (!IsLockClosed()) return false;
  found_fault_.store(true, std::memory_order_relaxed);
  return true;
}

Result<AgentRef> ProcessSlots::ClaimAgent(const uint64_t (&client_id)[2], uint32_t thread_id) {
  const uint32_t agents = segment_.geometry().agents;
  const uint32_t start = self_.slot * (agents / segment_.geometry().processes);
  for (uint32_t i = 0; i < agents; ++i) {
    const uint32_t index = (start + i) % agents;
    AgentEntry& entry = segment_.agent(index);
    uint64_t free = 0;
    if (entry.owner.Get() != 0 || !entry.owner.CompareExchange(free, self_.ToWord())) continue;
    const auto at = static_cast<uint16_t>(index);
    uint32_t generation = entry.generation.Get();
    // As above.
    if (generation != 0) (void)directory_.Unlink(DoorbellName(segment_, {at, generation, self_}));
    if (++generation == 0) generation = 1;
    // Before the generation: a repair that takes a record for this agent's stores 1 after that.
    entry.rescan.Exchange(0);
    entry.generation.Publish(generation);
    entry.thread_id.Set(thread_id);
    entry.client_id[0].Set(client_id[0]);
    entry.client_id[1].Set(client_id[1]);
    entry.cpu.Set(0);
    entry.event_head.Exchange(segment::kNoCell);
    entry.sleeping.Exchange(0);
    entry.answered.Exchange(0);
    entry.revokes_in.Exchange(0);
    // Corruption has made a record name this agent: its first rescan ends the record.
    if (HasRecords(at)) entry.rescan.Exchange(1);
    return AgentRef{at, generation, self_};
  }
  return Status(StatusCode::kTooManyAgents, "too many threads and processes use this bucket");
}

bool ProcessSlots::HasRecords(uint16_t agent) const {
  for (uint32_t shard = 0; shard < segment_.geometry().shards; ++shard) {
    if (segment_.agent_list(agent, shard).Get() != segment::kNoCell) return true;
  }
  return false;
}

void ProcessSlots::ReleaseAgent(const AgentRef& agent) {
  uint64_t owner = self_.ToWord();
  segment_.agent(agent.index).owner.CompareExchange(owner, 0);
}

}  // namespace holdfast::core
