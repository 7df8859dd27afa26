// Enforces hold limits. The holder's process and every waiting process check the time, and expire a
// lock whose limit has passed. No clock affects a lock without a limit.
//
// Times of different processes are compared only when one clock gave both (Host::ClockId). For
// other holders the time counts from the moment at which this process first saw them.
#ifndef HOLDFAST_CORE_HOLD_LIMITS_H_
#define HOLDFAST_CORE_HOLD_LIMITS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/background_job.h"
#include "core/lock_table.h"
#include "platform/result.h"

namespace holdfast::core {

// When grants with an incomparable clock were first seen. Ended grants make room; if there is none,
// the time of a new grant begins once an entry is free.
class FirstSeenTimes {
 public:
  uint64_t SinceNs(uint64_t token, uint64_t now_ns);
  // Removes grants that were not looked up since the last call.
  void Prune();

 private:
  struct FirstSeen {
    uint64_t token = 0;  // 0: free
    uint64_t since_ns = 0;
    bool is_current = false;
  };
  static constexpr uint32_t kMax = 8;
  std::array<FirstSeen, kMax> first_seen_{};
};

// Whether a lock's hold limit has passed, even if its holder was not notified.
bool IsHeldTooLong(const segment::RequestCell& holder, segment::Host& host);

// Checks the lock that a request holds, or the holders that it waits for, and expires at most one
// of them. Returns the time of the next check (MonotonicNs; in the past: at once), 0: never.
// Errors: kBusy.
Result<uint64_t> EnforceHoldLimits(LockTable& lock_table, const RecordRef& record,
                                   FirstSeenTimes& first_seen, uint64_t timeout_ns);

// The requests of this process that hold limits concern, and when each is checked next. Not
// thread-safe.
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

// Expires locks whose hold limit has passed, for the requests of this process.
class HoldLimitEnforcer final : public BackgroundJob {
 public:
  explicit HoldLimitEnforcer(LockTable& lock_table) : lock_table_(lock_table) {}

  // Checks the hold limits that concern a request from `due_ns` on (MonotonicNs). Any thread.
  void Add(const RecordRef& record, uint64_t due_ns);
  // The request has ended. Any thread.
  void Remove(const RecordRef& record);

  // Any thread.
  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  LockTable& lock_table_;
  std::mutex mutex_;
  HoldLimitTimers timers_;  // guarded by mutex_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_HOLD_LIMITS_H_
