// The simulated programs' view of their locks, kept outside of the segment, and its invariants:
// mutual exclusion, queue order, tokens that rise and are never given twice.
//
// This view lags behind the table, so a claim is only made if the lag does not matter: a lock is
// held from the moment its program knows of it to the moment it begins to give it up.
#ifndef HOLDFAST_TEST_SIMULATION_LOCK_LOG_H_
#define HOLDFAST_TEST_SIMULATION_LOCK_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "segment/priority.h"

namespace holdfast::test {

class LockLog {
 public:
  // Index in the log of one request.
  using Number = size_t;

  struct Request {
    uint32_t process = 0;
    uint32_t name = 0;
    bool is_exclusive = true;
    bool steals = false;
    Priority priority = Priority::kUserVisible;
  };

  Number Begin(const Request& request);
  // request() has returned: a request that begins from now on comes behind it.
  void Queued(Number number) { entries_[number].queued_at = ++time_; }
  // The priority of a request that waits changes, now or soon: its order is checked no more, except
  // how often it is passed, unless it lets others pass by a lower priority.
  void Changing(Number number, Priority priority);
  void Granted(Number number, uint64_t token);
  // The program ends the request, or was notified that there is nothing (any more) to end.
  void Ended(Number number) { entries_[number].state = State::kEnded; }
  // Its end begins, and later it is said how it was: `is_loss`: the lock had been lost.
  void Ending(Number number) { entries_[number].ended_at = ++time_; }
  void Answered(Number number, bool is_loss);
  // The program was notified that its lock is gone.
  void Lost(Number number);
  void ProcessDied(uint32_t process);

  uint64_t grants() const { return grants_; }
  uint64_t now() const { return time_; }
  // Whether a program believes that it holds the lock with this token.
  bool IsHeld(uint64_t token) const;
  // Of the locks that were requested after `time` and granted.
  std::vector<uint64_t> TokensSince(uint64_t time) const;
  const std::string& fault() const { return fault_; }

 private:
  enum class State { kRequested, kHeld, kEnded };
  struct Entry {
    Request request;
    State state = State::kRequested;
    uint64_t begun_at = 0;
    uint64_t queued_at = 0;  // 0: its position in the queue is not known
    uint64_t granted_at = 0;
    uint64_t ended_at = 0;
    uint64_t token = 0;
    Number overtaken_by = 0;  // + 1; 0: by none that must not
    uint32_t overtakes = 0;   // by requests that may
    bool has_changed = false;
    bool has_fallen = false;
  };

  static bool Excludes(const Entry& a, const Entry& b) {
    return a.request.is_exclusive || b.request.is_exclusive;
  }
  static bool IsYounger(const Entry& later, const Entry& earlier) {
    return earlier.queued_at != 0 && earlier.queued_at < later.begun_at;
  }
  static bool HaveChanged(const Entry& a, const Entry& b) { return a.has_changed || b.has_changed; }
  static bool MayPass(const Entry& later, const Entry& earlier) {
    return later.request.priority > earlier.request.priority;
  }
  bool MayBeStolen(const Entry& entry) const;
  void CheckPair(Number number, Number other);
  void Fail(const std::string& what, Number number, Number other);

  std::vector<Entry> entries_;
  std::map<uint32_t, std::vector<Number>> by_name_;
  std::map<uint32_t, std::vector<Number>> steals_;  // by name
  std::map<uint64_t, Number> tokens_;
  uint64_t time_ = 0;
  uint64_t grants_ = 0;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_LOCK_LOG_H_
