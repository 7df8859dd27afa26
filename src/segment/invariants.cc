#include "segment/invariants.h"

#include <set>

namespace holdfast::segment {
namespace {

// The records of a shard that are requests.
template <typename Visit>
void ForEachRequest(Segment& segment, Visit visit) {
  for (uint32_t number = 0; number < segment.geometry().cells(); ++number) {
    const uint32_t shard = segment.ShardOfCell(number + 1);
    if (shard >= segment.geometry().shards) continue;
    const RequestCell* const request = ShardView(segment, shard).RequestAt(number + 1);
    if (request != nullptr) visit(number + 1, *request);
  }
}

// I7: a token is used once, and the newest one is recorded.
void CheckTokens(Segment& segment, Violations& violations) {
  std::set<uint64_t> tokens;
  ForEachRequest(segment, [&](CellId id, const RequestCell& request) {
    const uint64_t token = request.token.Get();
    if (token == 0) return;
    if (!tokens.insert(token).second)
      violations.push_back("I7 " + CellName(id) + " shares a token");
    if (token > segment.header().last_token.Get()) {
      violations.push_back("I7 " + CellName(id) + " has a token that was never given");
    }
  });
}

// I10: a marked record is in the event list of its agent, or the agent is going to rescan.
void CheckEvents(Segment& segment, Violations& violations) {
  std::set<CellId> met;
  for (uint32_t agent = 0; agent < segment.geometry().agents; ++agent) {
    if (segment.agent(agent).owner.Get() == 0) continue;
    CellId id = segment.agent(agent).event_head.Get();
    while (id != kNoCell && id != kEventEnd) {
      const RequestCell* const request = ShardView(segment, segment.ShardOfCell(id)).RequestAt(id);
      const bool is_own = request != nullptr && request->agent.Get() == agent;
      if (!is_own || !met.insert(id).second) break;
      id = request->event_next.Get();
    }
  }
  ForEachRequest(segment, [&](CellId id, const RequestCell& request) {
    const bool is_marked = request.event_next.Get() != kNotLinked;
    const bool rescans = request.agent.Get() < segment.geometry().agents &&
                         segment.agent(request.agent.Get()).rescan.Get() != 0;
    if (is_marked && !rescans && !met.contains(id)) {
      violations.push_back("I10 " + CellName(id) + " is marked, but no event of its agent");
    }
    const bool is_zombie = request.state.Get() == CellState::kZombie;
    if (is_zombie && !is_marked && !rescans) {
      violations.push_back("I10 " + CellName(id) + " is a zombie that nobody will free");
    }
  });
}

}  // namespace

std::string CellName(CellId id) { return "cell " + std::to_string(id); }

Violations CheckInvariants(Segment& segment) {
  Violations violations;
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    const Violations found = CheckInvariants(ShardView(segment, shard));
    violations.insert(violations.end(), found.begin(), found.end());
  }
  CheckTokens(segment, violations);
  CheckEvents(segment, violations);
  return violations;
}

}  // namespace holdfast::segment
