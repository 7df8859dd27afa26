#include "core/blocker_updates.h"

#include "core/blockers.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"

namespace holdfast::core {

using segment::ProcessRef;

void BlockerUpdates::Add(std::span<const RecordRef> records) {
  const std::lock_guard<std::mutex> guard(mutex_);
  records_.insert(records_.end(), records.begin(), records.end());
}

void BlockerUpdates::Run(const std::atomic<bool>& /*is_stopping*/) {
  std::vector<RecordRef> records;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    records.swap(records_);
  }
  for (const RecordRef& record : records) {
    const Result<std::vector<ProcessRef>> blockers = Blockers(manager_, record, kWorkerTimeoutNs);
    if (blockers.ok()) {
      for (const ProcessRef process : *blockers) peers_.Watch(process);
      hold_limits_.Add(record, 0);  // the first check ends it if there is no hold limit
    } else if (blockers.status().code() == StatusCode::kBusy) {
      Add({&record, 1});
    }
  }
}

// The records left after Run() belong to a busy shard.
uint64_t BlockerUpdates::DueNs(uint64_t now_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return records_.empty() ? kNever : now_ns + kNsPerMs;
}

}  // namespace holdfast::core
