// An agent's view of which request waits for which.
#include "core/agent.h"
#include "core/record_copies.h"
#include "core/shard_timeouts.h"
#include "core/wait_walk.h"

namespace holdfast::core {

Result<std::unique_ptr<WaitWalk>> Agent::BeginWaitWalk(std::span<const uint32_t> ids,
                                                       bool with_queues) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  std::vector<RecordRef> starts;
  for (const uint32_t id : ids) {
    if (id < entries_.size() && entries_[id].state == EntryState::kQueued) {
      starts.push_back(entries_[id].record);
    }
  }
  return std::make_unique<WaitWalk>(attachment_->manager(), WaitWalk::Options{with_queues},
                                    std::move(starts));
}

Result<bool> Agent::GoOn(WaitWalk& walk) {
  Result<bool> is_read = walk.GoOn(kNoWait);
  RepairIfBusy(is_read.status());
  return is_read;
}

Result<Snapshot> Agent::HoldersOf(const segment::ResourceName& name, uint32_t max) {
  const Status usable = CheckUsable();
  if (!usable.ok()) return usable;
  Result<std::vector<RecordCopy>> holders =
      core::HoldersOf(attachment_->manager(), name, max, kNoWait);
  RepairIfBusy(holders.status());
  if (!holders.ok()) return holders.status();
  Snapshot snapshot;
  for (RecordCopy& holder : *holders) {
    if (attachment_->host().IsAlive(holder.process))
      snapshot.held.push_back(std::move(holder.info));
  }
  return snapshot;
}

}  // namespace holdfast::core
