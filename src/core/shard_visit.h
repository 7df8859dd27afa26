// Looks after what an agent has left in the intake of a shard: the background worker's thread,
// which may wait, enters the shard, takes it over if its owner has died, and so has the intake
// executed. Whoever unlocks the shard does that sooner, as a rule.
#ifndef HOLDFAST_CORE_SHARD_VISIT_H_
#define HOLDFAST_CORE_SHARD_VISIT_H_

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

// What the visits have to say to their agent.
struct VisitLog {
  struct Stall {
    uint32_t shard = 0;
    uint32_t process_id = 0;  // of the one in the way; 0: unknown
  };
  // A record that the background worker has ended.
  struct End {
    uint32_t id = 0;
    segment::CellState ended = segment::CellState::kFree;
  };
  std::mutex mutex;
  std::vector<uint32_t> done;  // shards
  std::vector<End> ends;
  std::vector<Stall> stalls;  // shards that cannot be entered for a second
  std::atomic<bool> has_news{false};
};

class ShardVisit {
 public:
  // `operations`: of this agent in this shard; what is still pending after a visit was lost by
  // damage, and is executed then.
  ShardVisit(Attachment& attachment, const segment::AgentRef& agent, std::shared_ptr<VisitLog> log,
             uint32_t shard, std::vector<LockManager::OperationRef> operations)
      : attachment_(&attachment),
        agent_(agent),
        log_(std::move(log)),
        shard_(shard),
        operations_(std::move(operations)),
        begin_ns_(attachment.MonotonicNs()) {}

  // To be called by the background worker, again after kBusy.
  StatusCode operator()();

 private:
  void TellIfStalled();

  Attachment* attachment_;
  segment::AgentRef agent_;
  std::shared_ptr<VisitLog> log_;
  uint32_t shard_;
  std::vector<LockManager::OperationRef> operations_;
  uint64_t begin_ns_;
  bool has_waited_ = false;
  bool has_told_ = false;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SHARD_VISIT_H_
