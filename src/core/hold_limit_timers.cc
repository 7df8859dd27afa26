#include "core/hold_limit_timers.h"

namespace holdfast::core {

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

}  // namespace holdfast::core
