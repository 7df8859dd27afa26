#include "core/blocker_of.h"

#include "core/grantable.h"
#include "core/request_record.h"

namespace holdfast::core {

using segment::NameCell;
using segment::RequestCell;

// The first two of a queue are granted soon: the second becomes the first at the next hand-off.
Blocker BlockerOf(const segment::ShardView& shard, const RequestCell& request) {
  const RequestCell* blocker = shard.RequestAt(request.previous.Get());
  const bool comes_soon = blocker == nullptr || blocker->previous.Get() == segment::kNoCell;
  if (request.previous.Get() == segment::kNoCell) {
    const NameCell* const name = shard.NameAt(request.name.Get());
    if (name == nullptr) return {};
    const HeldCounts held = CountsOf(*name);
    if (held.exclusive + held.shared > 1) return {{}, true, 0};
    blocker = shard.RequestAt(name->held_head.Get());
  }
  if (blocker == nullptr) return {};
  return {shard.segment().OwnerOf(*blocker), false, comes_soon ? blocker->agent.Get() + 1U : 0};
}

// A holder, or the head of the queue if the holders are compatible. With a limit, the end of any
// holder makes room.
Blocker BlockerOfMiss(const segment::ShardView& shard, const LockRequest& request,
                      const NameCell& name) {
  const HeldCounts held = CountsOf(name);
  const bool minds = !IsGrantable(request.mode, true, held, request.limit);
  const segment::CellId blocker = minds ? name.held_head.Get() : name.queue_head.Get();
  const RequestCell* const cell = shard.RequestAt(blocker);
  const bool is_any_of_several = minds && request.limit != 0 && held.shared > 1;
  return {cell == nullptr ? segment::ProcessRef{} : shard.segment().OwnerOf(*cell),
          is_any_of_several, 0};
}

}  // namespace holdfast::core
