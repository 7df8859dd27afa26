#include "core/blockers.h"

#include <utility>

#include "segment/name_table.h"

namespace holdfast::core {

using segment::CellId;
using segment::kNoCell;
using segment::ProcessRef;
using segment::RequestCell;
using segment::ShardLock;
using segment::ShardView;

namespace {

// Has its memory before the shard is entered.
class ProcessSet {
 public:
  explicit ProcessSet(uint32_t most) : has_(most) { processes_.reserve(most); }

  void AddOwnerOf(const RequestCell& request) {
    const ProcessRef process{request.process_slot.Get(), request.process_generation.Get()};
    if (process.slot >= has_.size() || has_[process.slot]) return;
    has_[process.slot] = true;
    processes_.push_back(process);
  }
  void AddHolders(const ShardView& shard, const segment::NameCell& name) {
    CellId id = name.held_head.Get();
    for (uint32_t steps = 0; id != kNoCell && steps < shard.MostCells(); ++steps) {
      const RequestCell* const holder = shard.RequestAt(id);
      if (holder == nullptr) break;
      AddOwnerOf(*holder);
      id = holder->next.Get();
    }
  }
  std::vector<ProcessRef> Take() { return std::move(processes_); }

 private:
  std::vector<ProcessRef> processes_;
  std::vector<bool> has_;  // by slot
};

}  // namespace

Result<std::vector<ProcessRef>> Blockers(LockManager& manager, const RecordRef& record,
                                         uint64_t budget_ns) {
  ProcessSet blockers(manager.segment().geometry().processes);
  Notices notices(manager.segment(), manager.environment());
  const Result<ShardLock> lock = manager.EnterToLook(record.shard, notices, budget_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(manager.segment(), record.shard);
  const RequestCell* const request = RequestOf(view, record);
  if (request == nullptr || request->state.Get() != segment::CellState::kWaiting) {
    return blockers.Take();
  }
  if (request->previous.Get() != kNoCell) {
    const RequestCell* const previous = view.RequestAt(request->previous.Get());
    if (previous != nullptr) blockers.AddOwnerOf(*previous);
  } else if (const segment::NameCell* const name = view.NameAt(request->name.Get())) {
    blockers.AddHolders(view, *name);
  }
  return blockers.Take();
}

Result<std::vector<ProcessRef>> Holders(LockManager& manager, const segment::ResourceName& name,
                                        uint64_t budget_ns) {
  ProcessSet holders(manager.segment().geometry().processes);
  const uint32_t shard = name.ShardOf(manager.segment().geometry().shards);
  Notices notices(manager.segment(), manager.environment());
  const Result<ShardLock> lock = manager.EnterToLook(shard, notices, budget_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(manager.segment(), shard);
  const segment::NameTable::Found found = segment::NameTable(view).Find(name);
  if (found.cell != nullptr) holders.AddHolders(view, *found.cell);
  return holders.Take();
}

}  // namespace holdfast::core
