#include "core/blockers.h"

#include <utility>

#include "core/grantable.h"
#include "core/request_record.h"
#include "segment/biased_record.h"
#include "segment/name_table.h"

namespace holdfast::core {

using segment::NameCell;
using segment::RequestCell;

// The first two of a queue are granted soon: the second becomes the first at the next hand-off.
Blocker BlockerOf(const segment::ShardView& shard, const RequestCell& request) {
  const RequestCell* blocker = shard.RequestAt(request.previous.Get());
  const bool is_among_first_two = blocker == nullptr || blocker->previous.Get() == segment::kNoCell;
  if (request.previous.Get() == segment::kNoCell) {
    const NameCell* const name = shard.NameAt(request.name.Get());
    if (name == nullptr) return {};
    const HeldCounts held = CountsOf(*name);
    if (held.exclusive + held.shared > 1) return {{}, true, 0};
    blocker = shard.RequestAt(name->held_head.Get());
  }
  if (blocker == nullptr) return {};
  return {shard.segment().OwnerOf(*blocker), false,
          is_among_first_two ? blocker->agent.Get() + 1U : 0};
}

// A holder, or the head of the queue if the holders are compatible. With a limit, the end of any
// holder makes room. For a request that may wait, the last in the queue: every other waiter is
// watched by the one behind it.
Blocker BlockerOfMiss(const segment::ShardView& shard, const RequestParams& request,
                      const NameCell& name) {
  if (request.max_pending > 0) {
    const RequestCell* const last = shard.RequestAt(name.queue_tail.Get());
    return {last == nullptr ? segment::ProcessRef{} : shard.segment().OwnerOf(*last), false, 0};
  }
  const HeldCounts held = CountsOf(name);
  const bool minds = !IsGrantable(request.mode, true, held, request.limit);
  const segment::CellId blocker = minds ? name.held_head.Get() : name.queue_head.Get();
  const RequestCell* const cell = shard.RequestAt(blocker);
  const bool is_any_of_several = minds && request.limit != 0 && held.shared > 1;
  return {cell == nullptr ? segment::ProcessRef{} : shard.segment().OwnerOf(*cell),
          is_any_of_several, 0};
}

using segment::CellId;
using segment::kNoCell;
using segment::ProcessRef;
using segment::ShardLock;
using segment::ShardView;

namespace {

// Allocates its memory before the shard is entered.
class HoldingsByProcess {
 public:
  explicit HoldingsByProcess(segment::Segment& segment)
      : segment_(segment), at_(segment.geometry().processes, 0) {
    holdings_.reserve(at_.size());
  }

  void AddOwnerOf(const RequestCell& request) {
    const ProcessRef process = segment_.OwnerOf(request);
    if (process.slot >= at_.size()) return;
    uint32_t& at = at_[process.slot];
    if (at == 0) {
      holdings_.push_back({process});
      at = static_cast<uint32_t>(holdings_.size());
    }
    Holdings& holdings = holdings_[at - 1];
    ++holdings.count;
    if (request.mode.Get() == static_cast<uint8_t>(LockMode::kExclusive)) {
      holdings.is_exclusive = true;
    }
  }
  void AddHolders(const ShardView& shard, const segment::NameCell& name) {
    CellId id = name.held_head.Get();
    for (uint32_t steps = 0; id != kNoCell && steps < shard.MaxCells(); ++steps) {
      RequestCell* const holder = shard.RequestAt(id);
      if (holder == nullptr) break;
      if (segment::Revoke(*holder) == segment::CellState::kHeld) AddOwnerOf(*holder);
      id = holder->next.Get();
    }
  }
  std::vector<Holdings> Take() { return std::move(holdings_); }

 private:
  segment::Segment& segment_;
  std::vector<Holdings> holdings_;
  std::vector<uint32_t> at_;  // by slot: where in holdings_, + 1
};

}  // namespace

Result<std::vector<ProcessRef>> Blockers(LockTable& lock_table, const RecordRef& record,
                                         uint64_t timeout_ns) {
  HoldingsByProcess blockers(lock_table.segment());
  WakeQueue wake_queue(lock_table.segment(), lock_table.host());
  const Result<ShardLock> lock = lock_table.EnterForRead(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(lock_table.segment(), record.shard);
  const RequestCell* const request = RequestOf(view, record);
  if (request == nullptr || request->state.Get() != segment::CellState::kWaiting) {
    return std::vector<ProcessRef>{};
  }
  if (request->previous.Get() != kNoCell) {
    const RequestCell* const previous = view.RequestAt(request->previous.Get());
    if (previous != nullptr) blockers.AddOwnerOf(*previous);
  } else if (const segment::NameCell* const name = view.NameAt(request->name.Get())) {
    blockers.AddHolders(view, *name);
  }
  std::vector<ProcessRef> processes;
  for (const Holdings& holdings : blockers.Take()) processes.push_back(holdings.process);
  return processes;
}

Result<std::vector<Holdings>> Holders(LockTable& lock_table, const segment::ResourceName& name,
                                      uint64_t timeout_ns) {
  HoldingsByProcess holders(lock_table.segment());
  const uint32_t shard = name.ShardIn(lock_table.segment());
  WakeQueue wake_queue(lock_table.segment(), lock_table.host());
  const Result<ShardLock> lock = lock_table.EnterForRead(shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(lock_table.segment(), shard);
  const segment::NameTable::Found found = segment::NameTable(view).Find(name);
  if (found.cell != nullptr) holders.AddHolders(view, *found.cell);
  return holders.Take();
}

}  // namespace holdfast::core
