// Makes sure that an agent's operations in the publication list of a shard are executed. The
// background worker's thread, which may wait, enters the shard, takes it over if its owner has
// died, and executes the publication list. Usually the process that unlocks the shard does so
// earlier.
#ifndef HOLDFAST_CORE_DEFERRED_ENTRY_H_
#define HOLDFAST_CORE_DEFERRED_ENTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/attachment.h"
#include "platform/status.h"
#include "segment/owner.h"

namespace holdfast::core {

// Reports of the background worker, for their agent.
struct WorkerReports {
  struct Stall {
    uint32_t shard = 0;
    uint32_t process_id = 0;  // of the stopped process; 0: unknown
  };
  // A record that the background worker has ended.
  struct End {
    uint32_t id = 0;
    segment::CellState ended = segment::CellState::kFree;
  };
  // A request whose dead blockers were reaped in its shard.
  struct Reaped {
    uint32_t id = 0;
    int attempts = 0;
  };
  std::mutex mutex;
  std::vector<uint32_t> done;  // shards
  std::vector<End> ends;
  std::vector<Stall> stalls;  // shards that could not be entered for a second
  std::vector<Reaped> reaped;
  std::atomic<bool> has_news{false};
};

class DeferredEntry {
 public:
  // `operation`: of this agent in this shard. If it is still pending after the entry, corruption
  // has hidden it from the combiner; the deferred entry executes it then. The deferred entry is
  // over once no operation is pending, including those that were added meanwhile.
  DeferredEntry(Attachment& attachment, const segment::AgentRef& agent,
                std::shared_ptr<WorkerReports> log, uint32_t shard,
                const LockTable::OperationRef& operation)
      : attachment_(&attachment),
        agent_(agent),
        log_(std::move(log)),
        shard_(shard),
        operations_{operation},
        begin_ns_(attachment.host().MonotonicNs()) {}

  // Called by the background worker, again after kBusy.
  StatusCode operator()();
  // Called by the agent. False: the deferred entry is over.
  bool Add(const LockTable::OperationRef& operation);
  bool IsOver() const;

 private:
  // Removes the executed operations, and follows the processes that have executed them.
  void DropExecuted(std::vector<LockTable::OperationRef>& operations);
  void ReportIfStalled();

  Attachment* attachment_;
  segment::AgentRef agent_;
  std::shared_ptr<WorkerReports> log_;
  uint32_t shard_;
  std::vector<LockTable::OperationRef> operations_;  // guarded by log_->mutex
  bool is_over_ = false;                             // the same
  uint64_t begin_ns_;
  bool has_waited_ = false;
  bool has_reported_ = false;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_DEFERRED_ENTRY_H_
