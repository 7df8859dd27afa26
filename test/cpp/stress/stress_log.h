// The view that the processes of a stress test have of their locks, in separate memory beside the
// lock table: it survives its writers.
//
// One counter numbers the entries of the log, so its order is one in which everything happened: a
// process that enters before an earlier one has left was inside together with it.
#ifndef HOLDFAST_TEST_STRESS_STRESS_LOG_H_
#define HOLDFAST_TEST_STRESS_STRESS_LOG_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "segment/priority.h"

namespace holdfast::test {

enum class StressEvent : uint32_t {
  kNone = 0,     // its writer died before it was written
  kStealBegins,  // before a steal: from here on a holder may lose the lock of this name
  kEnter,        // after the grant
  kLeave,        // before the release, or after the events that the lock was lost
  kDying,  // before the kill, by who kills: what this process says from here on does not count
};

struct StressEntry {
  uint32_t process = 0;  // its number in the run, never used again
  uint32_t agent = 0;    // likewise
  uint32_t name = 0;
  uint32_t limit = 0;
  bool is_exclusive = false;
  bool steals = false;
  Priority priority = Priority::kUserVisible;
  bool has_changed = false;  // its priority, while it waited: its order is not judged
  bool has_fallen = false;   // to a lower one, which lets others pass: no bound is judged either
  uint64_t ticket = 0;
  uint64_t token = 0;
  uint64_t hold_limit_ns = 0;
  uint64_t requested_ns = 0;  // CLOCK_MONOTONIC, before the request
  uint64_t now_ns = 0;        // CLOCK_MONOTONIC
};

// Lives in shared memory that is zeroed.
class StressLog {
 public:
  static constexpr uint64_t kEntries = uint64_t{1} << 20;

  // From any process. An entry that does not fit is a fault.
  void Write(StressEvent event, const StressEntry& entry);
  // A program that makes requests stops here for a while.
  bool IsNearlyFull() const { return count_.load() > kEntries / 2; }
  // Of any process: what was wrong in its own eyes. The first counts.
  void Fail(const char* what);

  // While no process writes.
  uint64_t count() const { return count_.load(); }
  StressEvent event(uint64_t index) const { return slots_[index].event.load(); }
  const StressEntry& entry(uint64_t index) const { return slots_[index].entry; }
  void Clear();
  std::string fault() const { return has_fault_.load() == 0 ? "" : fault_; }

 private:
  struct Slot {
    std::atomic<StressEvent> event;
    StressEntry entry;
  };
  static constexpr size_t kMaxFaultBytes = 256;

  std::atomic<uint64_t> count_;
  std::atomic<uint32_t> has_fault_;
  char fault_[kMaxFaultBytes];
  Slot slots_[kEntries];
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STRESS_STRESS_LOG_H_
