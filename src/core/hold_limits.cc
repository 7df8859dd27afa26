#include "core/hold_limits.h"

#include <algorithm>

#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/event_list.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::kNoCell;
using segment::NameCell;
using segment::RequestCell;
using segment::ShardLock;
using segment::ShardView;

namespace {

// A waiter checks at least once per shortest limit ahead of it, so that it sees every holder before
// that holder's limit passes. But a waiter checks no more often than this.
constexpr uint64_t kMinIntervalNs = 10'000'000;
// A longer limit is corruption, and must not overflow.
constexpr uint64_t kMaxNs = uint64_t{1} << 62;

// The time of the grant; `now_ns` if that is in the future, which is corruption. REQUIRES: the
// clocks are comparable.
uint64_t GrantedNs(const RequestCell& holder, uint64_t now_ns) {
  return std::min(holder.granted_ns.Get(), now_ns);
}

uint64_t LimitNs(const RequestCell& holder) { return std::min(holder.hold_limit_ns.Get(), kMaxNs); }

bool IsComparable(const RequestCell& holder, uint32_t clock) {
  return clock != 0 && holder.granted_clock.Get() == clock;
}

class HoldLimitCheck {
 public:
  HoldLimitCheck(ShardView shard, WakeQueue& wake_queue, FirstSeenTimes& first_seen)
      : shard_(shard),
        wake_queue_(wake_queue),
        first_seen_(first_seen),
        clock_(wake_queue.host().ClockId()),
        now_ns_(wake_queue.host().MonotonicNs()) {}

  uint64_t At(CellId id, RequestCell& request) {
    if (request.state.Get() == CellState::kHeld) return AtHolder(id, request);
    const NameCell* const name = shard_.NameAt(request.name.Get());
    if (request.state.Get() != CellState::kWaiting || name == nullptr) return 0;
    if (name->hold_limited.Get() == 0) return 0;
    uint64_t next_ns =
        now_ns_ + std::clamp(name->least_hold_limit_ns.Get(), kMinIntervalNs, kMaxNs);
    CellId holder_id = name->held_head.Get();
    for (uint32_t steps = 0; holder_id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
      RequestCell* const holder = shard_.RequestAt(holder_id);
      if (holder == nullptr) break;
      const uint64_t due_ns = AtHolder(holder_id, *holder);
      if (due_ns != 0) next_ns = std::min(next_ns, due_ns);
      // It was expired: the list has changed.
      if (holder->state.Get() != CellState::kHeld) return next_ns;
      holder_id = holder->next.Get();
    }
    first_seen_.Prune();
    return next_ns;
  }

 private:
  uint64_t AtHolder(CellId id, RequestCell& holder) {
    const uint64_t limit_ns = LimitNs(holder);
    if (limit_ns == 0) return 0;
    const uint64_t due_ns = SinceNs(holder) + limit_ns;
    if (due_ns <= now_ns_) ShardRules(shard_, wake_queue_).Expire(id, holder);
    return due_ns;
  }

  uint64_t SinceNs(const RequestCell& holder) {
    return IsComparable(holder, clock_) ? GrantedNs(holder, now_ns_)
                                        : first_seen_.SinceNs(holder.token.Get(), now_ns_);
  }

  ShardView shard_;
  WakeQueue& wake_queue_;
  FirstSeenTimes& first_seen_;
  const uint32_t clock_;
  const uint64_t now_ns_;
};

}  // namespace

uint64_t FirstSeenTimes::SinceNs(uint64_t token, uint64_t now_ns) {
  FirstSeen* room = nullptr;
  for (FirstSeen& seen : first_seen_) {
    if (seen.token == token) {
      seen.is_current = true;
      return seen.since_ns;
    }
    if (seen.token == 0) room = &seen;
  }
  if (room != nullptr) *room = {token, now_ns, true};
  return now_ns;
}

void FirstSeenTimes::Prune() {
  for (FirstSeen& seen : first_seen_) {
    if (!seen.is_current) seen.token = 0;
    seen.is_current = false;
  }
}

bool IsHeldTooLong(const RequestCell& holder, segment::Host& host) {
  const uint64_t limit_ns = LimitNs(holder);
  if (holder.state.Get() != CellState::kHeld) return false;
  if (!IsComparable(holder, host.ClockId())) return false;
  const uint64_t now_ns = host.MonotonicNs();
  return GrantedNs(holder, now_ns) + limit_ns <= now_ns;
}

Result<uint64_t> EnforceHoldLimits(LockTable& lock_table, const RecordRef& record,
                                   FirstSeenTimes& first_seen, uint64_t timeout_ns) {
  segment::Segment& segment = lock_table.segment();
  uint64_t next_ns = 0;
  uint32_t agent = segment.geometry().agents;
  {
    WakeQueue wake_queue(segment, lock_table.host());
    const Result<ShardLock> lock = lock_table.Enter(record.shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(segment, record.shard);
    RequestCell* const request = RequestOf(view, record);
    if (request == nullptr) return uint64_t{0};
    next_ns = HoldLimitCheck(view, wake_queue, first_seen).At(record.cell, *request);
    agent = request->agent.Get();
  }
  // The process that expired the lock may have died, unwatched, before it rang the agents that it
  // granted the lock, or whose blockers have changed.
  if (agent < segment.geometry().agents && segment::HasEvents(segment.agent(agent))) {
    lock_table.host().Ring(segment.AgentAt(agent));
  }
  return next_ns;
}

void HoldLimitTimers::Add(const RecordRef& record, uint64_t due_ns) {
  const auto [it, is_new] = watched_.try_emplace(KeyOf(record), Watched{{record, {}}, due_ns});
  if (!is_new) {
    if (due_ns >= it->second.due_ns) return;
    queue_.erase({it->second.due_ns, it->first});
    it->second.due_ns = due_ns;
  }
  queue_.emplace(due_ns, it->first);
}

void HoldLimitTimers::Remove(const RecordRef& record) {
  const auto it = watched_.find(KeyOf(record));
  if (it == watched_.end()) return;
  queue_.erase({it->second.due_ns, it->first});
  watched_.erase(it);
}

HoldLimitTimers::Task HoldLimitTimers::First() const {
  return watched_.at(queue_.begin()->second).task;
}

void HoldLimitTimers::Update(const Task& task, uint64_t due_ns) {
  const auto it = watched_.find(KeyOf(task.record));
  if (it == watched_.end()) return;
  queue_.erase({it->second.due_ns, it->first});
  if (due_ns == 0) {
    watched_.erase(it);
    return;
  }
  it->second = {task, due_ns};
  queue_.emplace(due_ns, it->first);
}

namespace {

// A busy shard extends a lock's limit by this time.
constexpr uint64_t kBusyNs = 5 * kNsPerMs;

}  // namespace

void HoldLimitEnforcer::Add(const RecordRef& record, uint64_t due_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  timers_.Add(record, due_ns);
}

void HoldLimitEnforcer::Remove(const RecordRef& record) {
  const std::lock_guard<std::mutex> guard(mutex_);
  timers_.Remove(record);
}

// Expires one lock per entry, so that peers can use the shard in between.
void HoldLimitEnforcer::Run(const std::atomic<bool>& is_stopping) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t now_ns = lock_table_.host().MonotonicNs();
  while (timers_.NextDueNs() <= now_ns && !is_stopping.load()) {
    HoldLimitTimers::Task task = timers_.First();
    lock.unlock();
    const Result<uint64_t> next_ns =
        EnforceHoldLimits(lock_table_, task.record, task.first_seen, kWorkerTimeoutNs);
    lock.lock();
    const bool is_busy = next_ns.status().code() == StatusCode::kBusy;
    timers_.Update(task, next_ns.ok() ? *next_ns : is_busy ? now_ns + kBusyNs : 0);
  }
}

uint64_t HoldLimitEnforcer::DueNs(uint64_t /*now_ns*/) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return timers_.NextDueNs();
}

}  // namespace holdfast::core
