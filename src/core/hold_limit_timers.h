// Which requests of this process have to do with hold limits, and when each is to be looked at next
// (hold_limits.h). Not for several threads at once.
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

  // `due_ns`: when it is to be looked at next at the latest (MonotonicNs).
  void Add(const RecordRef& record, uint64_t due_ns);
  void Remove(const RecordRef& record);
  // kNever: there is nothing to look at.
  uint64_t NextDueNs() const { return queue_.empty() ? kNever : queue_.begin()->first; }

  struct Task {
    RecordRef record;
    FirstSeenTimes first_seen;
  };
  // The one that is due first; there must be one.
  Task First() const;
  // It was looked at: when next, 0: never. No effect on one that was removed meanwhile.
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
