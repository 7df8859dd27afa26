// How the lock manager uses the intakes of the shards (segment/intake.h).
#include "core/lock_manager.h"
#include "core/operation_executor.h"
#include "segment/kept_record.h"

namespace holdfast::core {

using segment::CellId;
using segment::OperationCell;
using segment::OperationState;
using segment::ShardLock;
using segment::ShardView;

namespace {

// Bounds the rounds, so that a steady flow does not keep this thread; visits execute the rest
// (shard_visit.h).
constexpr int kMaxRounds = 16;

}  // namespace

void LockManager::PutIn(CellId id, OperationCell& operation) {
  const uint32_t shard = operation.shard.Get();
  segment::PushOperation(segment_, id, operation);
  // Their agents would overtake it.
  segment::CloseKept(segment_, operation.agent.Get(), shard);
  // The owner checks the intake after it unlocks: one of the two threads sees the other.
  WorkOffIntake(shard);
}

void LockManager::WorkOffIntake(uint32_t shard) {
  for (int round = 0; round < kMaxRounds; ++round) {
    {
      WakeQueue wake_queue(segment_, host_);
      const Result<ShardLock> lock = ShardLock::TryEnter(segment_, shard, self_, host_);
      if (!lock.ok()) return;
      if (lock->NeedsRepair()) return;  // the visits of the operations repair
      ExecuteIntake(shard, wake_queue);
    }
    if (!segment::HasOperations(segment_.shard(shard))) return;
  }
}

// Inside the shard. Corruption is repaired at once, which executes what is still pending.
void LockManager::ExecuteIntake(uint32_t shard, WakeQueue& wake_queue) {
  const ShardView view(segment_, shard);
  view.header().changes.Set(view.header().changes.Get() + 1);
  OperationExecutor executor(view, wake_queue, self_);
  segment::IntakeReader intake(view);
  CellId id = segment::kNoCell;
  while (OperationCell* const operation = intake.Next(id)) {
    executor.Execute(id, *operation, OperationExecutor::Occasion::kIntake);
  }
  if (view.header().dirty.Get() != 0) Repair(shard, wake_queue);
}

// The owner may have died before it pushed its operation into the intake. The process that reaps it
// may have passed this shard already, and would not see the record.
bool LockManager::IsOfTheDead(const OperationCell& operation) const {
  const segment::AgentRef agent = segment::AgentOf(segment_, operation);
  return agent.generation != 0 && !host_.IsAlive(agent.process);
}

void LockManager::ExecuteAfterRepair(const ShardView& view, WakeQueue& wake_queue,
                                     const std::vector<OperationRef>& operations) {
  OperationExecutor executor(view, wake_queue, self_);
  for (const OperationRef& found : operations) {
    OperationCell* const operation = segment::PendingOperation(view, found);
    if (operation == nullptr) continue;
    if (IsOfTheDead(*operation)) {
      operation->state.Publish(OperationState::kExecuted);
      continue;
    }
    if (!executor.Execute(found.id, *operation, OperationExecutor::Occasion::kRepair)) return;
  }
}

Status LockManager::Visit(uint32_t shard, const std::vector<OperationRef>& operations,
                          uint64_t timeout_ns) {
  WakeQueue wake_queue(segment_, host_);
  const Result<ShardLock> lock = Enter(shard, wake_queue, timeout_ns);
  if (!lock.ok()) return lock.status();
  const ShardView view(segment_, shard);
  OperationExecutor executor(view, wake_queue, self_);
  for (const OperationRef& lost : operations) {
    OperationCell* const operation = segment::PendingOperation(view, lost);
    if (operation == nullptr) continue;
    executor.Execute(lost.id, *operation, OperationExecutor::Occasion::kRepair);
  }
  return Status();
}

}  // namespace holdfast::core
