#include "core/place_request.h"

#include <span>
#include <vector>

#include "core/blockers.h"

namespace holdfast::core {

using segment::AgentRef;
using segment::ProcessRef;

namespace {

// Cleans up after whoever of them is dead, and answers whether there was one.
Result<bool> CleanUpTheDead(Process& process, std::span<const ProcessRef> suspects,
                            uint64_t budget_ns) {
  bool was_one = false;
  for (const ProcessRef suspect : suspects) {
    if (suspect.generation == 0 || process.IsAlive(suspect)) continue;
    const Status done = process.caretaker().CleanUp(suspect, budget_ns);
    if (!done.ok()) return done;
    was_one = true;
  }
  return was_one;
}

// The same with whoever is in the way of a request that missed the lock.
Result<bool> MakeRoom(Process& process, const segment::ResourceName& name, const Ahead& ahead,
                      uint64_t budget_ns) {
  if (!ahead.several) return CleanUpTheDead(process, {&ahead.process, 1}, budget_ns);
  const auto holders = Holders(process.manager(), name, budget_ns);
  if (!holders.ok()) return holders.status();
  return CleanUpTheDead(process, *holders, budget_ns);
}

}  // namespace

Result<Placement> PlaceRequest(Process& process, const AgentRef& self,
                               const segment::ResourceName& name, const LockRequest& request,
                               uint64_t budget_ns) {
  for (;;) {
    Result<Placement> placement = process.manager().Request(self, name, request, budget_ns);
    if (!placement.ok() || placement->outcome != RequestOutcome::kMissed) return placement;
    const Ahead& ahead = placement->ahead;
    if (!ahead.several && ahead.process == self.process) return placement;
    const Result<bool> made_room = MakeRoom(process, name, ahead, budget_ns);
    if (!made_room.ok()) return made_room.status();
    if (!*made_room) return placement;
  }
}

}  // namespace holdfast::core
