#include "core/self_deadlock.h"

#include <algorithm>

namespace holdfast::core {

using segment::CellId;
using segment::kNoCell;
using segment::RequestCell;
using segment::ShardLock;
using segment::ShardView;

namespace {

// Walks from a waiting request to the requests and locks ahead of it. The queue is strict, so the
// request waits for everything that those wait for.
class WaitPath {
 public:
  WaitPath(segment::Segment& segment, const segment::AgentRef& agent, const RequestCell& request)
      : segment_(segment),
        process_(agent.process),
        thread_id_(segment.agent(agent.index).thread_id.Get()) {
    Pass(request);
  }

  // True: it belongs to the same thread, and a request met so far waits for its end.
  bool IsStoppedBy(const RequestCell& before) {
    const bool is_own = IsOfThread(before);
    if (is_own && (IsExclusive(before) || has_exclusive_)) return true;
    if (is_own && ++own_shared_ >= least_limit_) return true;
    Pass(before);
    return false;
  }

 private:
  static bool IsExclusive(const RequestCell& request) {
    return request.mode.Get() == static_cast<uint8_t>(LockMode::kExclusive);
  }
  // A thread has one agent per open lock manager.
  bool IsOfThread(const RequestCell& request) const {
    const uint16_t index = request.agent.Get();
    if (index >= segment_.geometry().agents || segment_.OwnerOf(request) != process_) return false;
    const segment::AgentEntry& entry = segment_.agent(index);
    return entry.generation.Get() == request.agent_generation.Get() &&
           entry.thread_id.Get() == thread_id_;
  }
  void Pass(const RequestCell& request) {
    if (IsExclusive(request)) {
      has_exclusive_ = true;
    } else if (request.limit.Get() != 0 && request.state.Get() == segment::CellState::kWaiting) {
      least_limit_ = std::min(least_limit_, request.limit.Get());
    }
  }

  segment::Segment& segment_;
  const segment::ProcessRef process_;
  const uint32_t thread_id_;
  bool has_exclusive_ = false;
  uint32_t own_shared_ = 0;
  uint32_t least_limit_ = UINT32_MAX;
};

}  // namespace

Result<bool> WouldSelfDeadlock(LockTable& lock_table, const segment::AgentRef& agent,
                               const RecordRef& record, uint64_t timeout_ns) {
  WakeQueue wake_queue(lock_table.segment(), lock_table.host());
  const Result<ShardLock> lock = lock_table.EnterForRead(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(lock_table.segment(), record.shard);
  const RequestCell* const request = RequestOf(view, record);
  if (request == nullptr || request->state.Get() != segment::CellState::kWaiting) return false;
  const segment::NameCell* const name = view.NameAt(request->name.Get());
  if (name == nullptr) return false;
  WaitPath way(lock_table.segment(), agent, *request);
  uint32_t steps = 0;
  for (CellId id = request->previous.Get(); id != kNoCell && steps++ < view.MaxCells();) {
    const RequestCell* const before = view.RequestAt(id);
    if (before == nullptr) return false;
    if (way.IsStoppedBy(*before)) return true;
    id = before->previous.Get();
  }
  for (CellId id = name->held_head.Get(); id != kNoCell && steps++ < view.MaxCells();) {
    const RequestCell* const holder = view.RequestAt(id);
    if (holder == nullptr) return false;
    if (way.IsStoppedBy(*holder)) return true;
    id = holder->next.Get();
  }
  return false;
}

}  // namespace holdfast::core
