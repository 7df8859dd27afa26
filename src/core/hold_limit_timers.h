// The requests of this process that hold limits concern, and when each is checked next
// (hold_limits.h). Not thread-safe.
#ifndef HOLDFAST_CORE_HOLD_LIMIT_TIMERS_H_
#define HOLDFAST_CORE_HOLD_LIMIT_TIMERS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "core/hold_limits.h"

namespace holdfast::core {

class HoldLimitTimers {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // `due_ns`: the latest time of its next check (MonotonicNs).
  void Add(const RecordRef& record, uint64_t due_ns);
  void Remove(const RecordRef& record);
  // kNever: nothing is due.
  uint64_t NextDueNs() const { return queue_.empty() ? kNever : queue_.begin()->first; }

  struct Task {
    RecordRef record;
    FirstSeenTimes first_seen;
  };
  // The task that is due first. REQUIRES: there is one.
  Task First() const;
  // Sets the time of the next check; 0: never. Has no effect on a removed task.
  void Update(const Task& task, uint64_t due_ns);

 private:
  using Key = std::pair<uint32_t, uint64_t>;  // shard, ticket
  struct Watched {
    Task task;
    uint64_t due_ns = 0;
  };
  static Key KeyOf(const RecordRef& record) { return {record.shard, record.ticket}; }

  std::map<Key, Watched> watched_;
  std::set<std::pair<uint64_t, Key>> queue_;  // by the time when due
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_HOLD_LIMIT_TIMERS_H_
