#include "stress/stress_log.h"

#include <cstring>

namespace holdfast::test {

void StressLog::Write(StressEvent event, const StressEntry& entry) {
  const uint64_t index = count_.fetch_add(1);
  if (index >= kEntries) return Fail("the log is full");
  slots_[index].entry = entry;
  slots_[index].event.store(event);
}

void StressLog::Fail(const char* what) {
  uint32_t none = 0;
  if (has_fault_.compare_exchange_strong(none, 1)) std::strncpy(fault_, what, kMaxFaultBytes - 1);
}

void StressLog::Clear() {
  const uint64_t count = count_.load() < kEntries ? count_.load() : kEntries;
  for (uint64_t i = 0; i < count; ++i) slots_[i].event.store(StressEvent::kNone);
  count_.store(0);
}

}  // namespace holdfast::test
