#include "segment/invariants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "segment/lock_mode.h"
#include "segment/name_table.h"
#include "segment/priority.h"
#include "segment/publication_list.h"

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
      violations.push_back("I10 " + CellName(id) + " is a zombie that no agent will free");
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

namespace {

bool IsUnlockedState(CellState state) {
  const bool is_request =
      (IsRequestState(state) || IsBiased(state)) && state != CellState::kStealing;
  return is_request || state == CellState::kFree || state == CellState::kName ||
         state == CellState::kText;
}

// Reads every cell of the shard once, and walks every list once.
class ShardChecker {
 public:
  ShardChecker(const ShardView& shard, Violations& violations)
      : shard_(shard), violations_(violations) {}

  void Check() {
    SortCells();
    for (const auto& [id, request] : requests_) CheckRequest(id, *request);
    for (const auto& [id, name] : names_) CheckName(id, *name);
    if (watched_ != shard_.header().contention_watches.Get()) {
      Fail("I19", "the watches for contention are counted wrongly");
    }
    CheckBuckets();
    CheckAgentLists();
    CheckFreeList();
    CheckEveryCellIsMet();
    CheckPublicationList();
  }

 private:
  void Fail(const char* number, const std::string& what) {
    violations_.push_back(std::string(number) + " shard " + std::to_string(shard_.index()) + ": " +
                          what);
  }

  // I1: every cell has one of the states that exist outside of the lock.
  void SortCells() {
    Segment& segment = shard_.segment();
    const Geometry& geometry = segment.geometry();
    for (uint32_t number = 0; number < geometry.cells(); ++number) {
      const CellId id = number + 1;
      AnyCell* const cell = shard_.CellAt(id);
      if (cell == nullptr) continue;
      const CellState state = cell->state.Acquire();
      if (!IsUnlockedState(state)) {
        Fail("I1", CellName(id) + " has the state " + std::to_string(static_cast<uint32_t>(state)));
      } else if (state == CellState::kName) {
        names_.emplace(id, &AsName(*cell));
      } else if (IsRequest(*cell, state)) {
        requests_.emplace(id, &AsRequest(*cell));
      }
      ++cells_;
    }
  }

  void CheckRequest(CellId id, const RequestCell& request) {
    if (!IsLockMode(request.mode.Get())) Fail("I1", CellName(id) + " has no mode");
    const uint64_t ticket = request.ticket.Get();
    if (ticket == 0 || ticket > shard_.header().last_ticket.Get()) {
      Fail("I7", CellName(id) + " has a ticket that was never given: " + std::to_string(ticket));
    }
    if (!tickets_.insert(ticket).second) Fail("I7", CellName(id) + " shares its ticket");
    CheckTexts(id, request);
    const bool was_granted = request.state.Get() == CellState::kHeld || IsLost(request.state.Get());
    if (was_granted && request.token.Get() == 0) Fail("I7", CellName(id) + " holds without token");
    const uint16_t slot = request.process_slot.Get();
    const Geometry& geometry = shard_.segment().geometry();
    if (slot >= geometry.processes || request.agent.Get() >= geometry.agents ||
        request.process_generation.Get() == 0 ||
        request.process_generation.Get() > shard_.segment().process(slot).generation.Get()) {
      Fail("I8", CellName(id) + " has an owner that cannot be");
    }
  }

  // I16: a name whose holder is not counted.
  void CheckUncounted(CellId id, const NameCell& name) {
    const CellId held = name.held_head.Get();
    const RequestCell* const request = shard_.RequestAt(held);
    const bool is_alone = request != nullptr && name.held_tail.Get() == held &&
                          name.queue_head.Get() == kNoCell && request->name.Get() == id &&
                          request->next.Get() == kNoCell && request->previous.Get() == kNoCell &&
                          in_name_lists_.insert(held).second;
    if (!is_alone) return Fail("I16", CellName(held) + " is not counted and not alone");
    const CellState state = request->state.Get();
    if (!IsBiased(state) && state != CellState::kHeld && state != CellState::kRevoked) {
      Fail("I16", CellName(held) + " was never open, and is not counted");
    }
    if (request->label.Get() != kNoCell || request->call_site.Get() != kNoCell ||
        request->limit.Get() != 0 || request->hold_limit_ns.Get() != 0 ||
        request->enclosing_token.Get() != 0 ||
        QueuePosition::FromWord(request->queue_position.Get()).priority != Priority::kUserVisible ||
        request->contention.Get() != Contention::kUnwatched) {
      Fail("I16", CellName(held) + " is biased, and more than a plain request");
    }
    const auto& biased = shard_.header().biased;
    if (std::none_of(std::begin(biased), std::end(biased),
                     [held](const Shared<CellId>& cell) { return cell.Get() == held; })) {
      Fail("I16", CellName(held) + " is biased, and not in the shard's list");
    }
  }

  // I3: the two lists of a name are valid, and contain the right requests by ticket. I5, I6.
  void CheckName(CellId id, const NameCell& name) {
    CheckUnits(id, name);
    const bool is_uncounted = name.held_exclusive.Get() + name.held_shared.Get() == 0;
    if (is_uncounted && name.held_head.Get() != kNoCell) return CheckUncounted(id, name);
    const Counts waiting = Walk(id, name.queue_head, name.queue_tail, CellState::kWaiting, "queue");
    const Counts held = Walk(id, name.held_head, name.held_tail, CellState::kHeld, "held list");
    if (waiting.all() + held.all() == 0)
      Fail("I4", CellName(id) + " is a name that no request uses");
    if (name.held_exclusive.Get() != held.exclusive || name.held_shared.Get() != held.shared) {
      Fail("I3", CellName(id) + " counts its holders wrongly");
    }
    if (held.exclusive > 1 || (held.exclusive == 1 && held.shared > 0)) {
      Fail("I5", CellName(id) + " has holders that exclude each other");
    }
    watched_ += static_cast<uint32_t>(held.contentions.size());
    const Contention highest = waiting.highest;
    if (std::any_of(held.contentions.begin(), held.contentions.end(),
                    [highest](Contention contention) { return contention != highest; })) {
      Fail("I19", CellName(id) + " has a holder that is not notified");
    }
    CheckLimits(id, held);
    CheckHoldLimits(id, name, waiting, held);
    const RequestCell* const first = shard_.RequestAt(name.queue_head.Get());
    if (first == nullptr) return;
    const bool is_shared = first->mode.Get() == static_cast<uint8_t>(LockMode::kShared);
    const uint32_t limit = first->limit.Get();
    const bool has_room = is_shared ? limit == 0 || held.shared < limit : held.shared == 0;
    if (held.exclusive == 0 && has_room) {
      Fail("I6", CellName(id) + " keeps a grantable request waiting");
    }
  }

  // The contents of a list.
  struct Counts {
    uint32_t exclusive = 0;
    uint32_t shared = 0;
    Contention highest = Contention::kNone;  // of the priorities
    std::vector<Contention> contentions;     // of those that watch
    std::vector<uint64_t> hold_limits;
    std::map<uint64_t, uint32_t> shared_limits;  // by token
    uint32_t all() const { return exclusive + shared; }
  };

  // I5: the limit held when the lock was granted, and the holders of that time only become fewer.
  void CheckLimits(CellId id, const Counts& held) {
    uint32_t before = 0;
    for (const auto& [token, limit] : held.shared_limits) {
      if (limit != 0 && before >= limit)
        Fail("I5", CellName(id) + " has more holders than allowed");
      ++before;
    }
  }

  // I3: a waiter can rely on the count, and on the smallest hold limit.
  void CheckHoldLimits(CellId id, const NameCell& name, const Counts& waiting, const Counts& held) {
    if (name.hold_limited.Get() != waiting.hold_limits.size() + held.hold_limits.size()) {
      Fail("I3", CellName(id) + " counts its hold limits wrongly");
    }
    for (const Counts* const list : {&waiting, &held}) {
      for (const uint64_t limit : list->hold_limits) {
        if (limit >= name.least_hold_limit_ns.Get()) continue;
        Fail("I3", CellName(id) + " knows of no hold limit that is so short");
      }
    }
  }

  // I11
  void CheckTexts(CellId id, const RequestCell& request) {
    CheckText(id, request.label.Get(), request.label_length.Get());
    CheckText(id, request.call_site.Get(), request.call_site_length.Get());
  }
  void CheckText(CellId id, CellId text_id, uint32_t length) {
    if (text_id == kNoCell) return;
    if (length == 0 || length > kMaxLabelUnits) Fail("I11", CellName(id) + " has an odd text");
    for (uint32_t left = TextPieces::CellsFor(length); left > 0; --left) {
      const TextCell* const text = shard_.TextAt(text_id);
      if (text == nullptr || text->owner.Get() != id || !texts_.insert(text_id).second) {
        return Fail("I11", CellName(id) + " has a text in pieces that are not its own");
      }
      text_id = text->following.Get();
    }
    if (text_id != kNoCell) Fail("I11", CellName(id) + " has a text beyond its length");
  }

  Counts Walk(CellId name, const Shared<CellId>& head, const Shared<CellId>& tail, CellState state,
              const char* list) {
    Counts counts;
    CellId previous = kNoCell;
    uint64_t last_order = 0;
    CellId id = head.Get();
    for (uint32_t steps = 0; id != kNoCell && steps <= shard_.MaxCells(); ++steps) {
      const RequestCell* const request = shard_.RequestAt(id);
      if (request == nullptr || request->state.Get() != state || request->name.Get() != name ||
          request->previous.Get() != previous || !in_name_lists_.insert(id).second) {
        Fail("I3", CellName(id) + " does not belong into the " + list + " of " + CellName(name));
        return counts;
      }
      const auto position = QueuePosition::FromWord(request->queue_position.Get());
      if (state == CellState::kWaiting) {
        if (position.order <= last_order) {
          Fail("I3", CellName(id) + " stands out of turn in the queue of " + CellName(name));
        }
        if (position.order > shard_.header().last_ticket.Get()) {
          Fail("I20", CellName(id) + " has an order that was never given");
        }
        if (position.overtakes > kMaxOvertakes)
          Fail("I20", CellName(id) + " is overtaken for ever");
        last_order = position.order;
      }
      const bool is_shared = request->mode.Get() == static_cast<uint8_t>(LockMode::kShared);
      ++(is_shared ? counts.shared : counts.exclusive);
      if (request->contention.Get() != Contention::kUnwatched)
        counts.contentions.push_back(request->contention.Get());
      counts.highest = std::max(counts.highest, ToContention(position.priority));
      if (is_shared) counts.shared_limits[request->token.Get()] = request->limit.Get();
      if (const uint64_t limit = request->hold_limit_ns.Get()) counts.hold_limits.push_back(limit);
      previous = id;
      id = request->next.Get();
    }
    if (tail.Get() != previous) Fail("I3", list + (" of " + CellName(name)) + " ends wrongly");
    return counts;
  }

  // I4: the hash fits the units, and each piece of a name belongs to that name alone.
  void CheckUnits(CellId id, const NameCell& name) {
    NameHasher hasher(shard_.segment().name_key());
    NameReader reader(shard_, id, name);
    const uint32_t length = name.length.Get();
    bool is_readable = NameTable::CellsFor(length) <= shard_.MaxCells();
    for (uint32_t i = 0; is_readable && i < length; ++i) {
      uint16_t unit = 0;
      is_readable = reader.Next(unit);
      hasher.Add(unit);
    }
    if (!is_readable || hasher.Finish(length) != name.hash.Get()) {
      Fail("I4", CellName(id) + " has units that do not fit its hash");
      return;
    }
    if (ShardOfHash(name.hash.Get(), shard_.segment().geometry().shards) != shard_.index()) {
      Fail("I4", CellName(id) + " is a name of another shard");
    }
    CellId text = name.text.Get();
    for (uint32_t left = NameTable::CellsFor(length) - 1; left > 0; --left) {
      if (!texts_.insert(text).second) Fail("I4", CellName(text) + " is a piece of two names");
      text = shard_.TextAt(text)->following.Get();
    }
    if (text != kNoCell) Fail("I4", CellName(id) + " has pieces beyond its length");
  }

  void CheckBuckets() {
    Segment& segment = shard_.segment();
    std::set<CellId> met;
    for (uint64_t i = 0; i < segment.geometry().buckets_per_shard; ++i) {
      CellId previous = kNoCell;
      CellId id = segment.bucket(shard_.index(), i).Get();
      while (id != kNoCell) {
        const NameCell* const name = shard_.NameAt(id);
        const bool is_here = name != nullptr && name->hash_previous.Get() == previous &&
                             (name->hash.Get() & (segment.geometry().buckets_per_shard - 1)) == i;
        if (!is_here || !met.insert(id).second) {
          Fail("I4", CellName(id) + " is in a bucket where it does not belong");
          break;
        }
        previous = id;
        id = name->hash_next.Get();
      }
    }
    for (const auto& [id, name] : names_) {
      if (!met.contains(id)) Fail("I4", CellName(id) + " is a name in no bucket");
    }
  }

  void CheckAgentLists() {
    std::set<CellId> met;
    for (uint32_t agent = 0; agent < shard_.segment().geometry().agents; ++agent) {
      CellId previous = kNoCell;
      CellId id = shard_.segment().agent_list(agent, shard_.index()).Get();
      while (id != kNoCell) {
        const RequestCell* const request = shard_.RequestAt(id);
        if (request == nullptr || request->agent.Get() != agent ||
            request->agent_previous.Get() != previous || !met.insert(id).second) {
          Fail("I3",
               CellName(id) + " does not belong into the list of agent " + std::to_string(agent));
          break;
        }
        previous = id;
        id = request->agent_next.Get();
      }
    }
    for (const auto& [id, request] : requests_) {
      if (!met.contains(id)) Fail("I3", CellName(id) + " is a request in no agent's list");
      const CellState state = request->state.Get();
      const bool needs_name =
          state == CellState::kWaiting || state == CellState::kHeld || IsBiased(state);
      if (needs_name && !in_name_lists_.contains(id)) {
        Fail("I3", CellName(id) + " is a request in no list of its name");
      }
    }
  }

  void CheckFreeList() {
    const ShardHeader& header = shard_.header();
    uint32_t count = 0;
    for (CellId id = header.free_head.Get(); id != kNoCell; ++count) {
      AnyCell* const cell = shard_.CellAt(id);
      if (cell == nullptr || cell->state.Get() != CellState::kFree || count >= cells_) {
        Fail("I9", CellName(id) + " does not belong into the free list");
        return;
      }
      id = cell->next.Get();
    }
    if (count != header.free_count.Get()) Fail("I9", "the free cells are counted wrongly");
    if (cells_ - count != header.used_count.Get()) Fail("I9", "the used cells are counted wrongly");
  }

  // I15: each cell in the publication list is an operation for this shard, and is in it once.
  void CheckPublicationList() {
    std::set<CellId> met;
    CellId id = shard_.header().publications.Get();
    while (id != kNoCell) {
      const OperationCell* const operation = OperationAt(shard_.segment(), id);
      const bool is_pushed = operation != nullptr && operation->shard.Get() == shard_.index() &&
                             (operation->state.Get() == OperationState::kPending ||
                              operation->state.Get() == OperationState::kExecuted);
      if (!is_pushed || !met.insert(id).second) {
        return Fail("I15", CellName(id) + " does not belong into the publication list");
      }
      id = operation->next.Get();
    }
  }

  void CheckEveryCellIsMet() {
    const size_t used = requests_.size() + names_.size() + texts_.size();
    if (used != shard_.header().used_count.Get()) {
      Fail("I9", std::to_string(shard_.header().used_count.Get()) + " cells are in use, " +
                     std::to_string(used) + " of them for something");
    }
  }

  ShardView shard_;
  Violations& violations_;
  uint32_t cells_ = 0;
  uint32_t watched_ = 0;
  std::map<CellId, RequestCell*> requests_;
  std::map<CellId, NameCell*> names_;
  std::set<CellId> texts_;
  std::set<CellId> in_name_lists_;
  std::set<uint64_t> tickets_;
};

}  // namespace

Violations CheckInvariants(const ShardView& shard) {
  Violations violations;
  ShardChecker(shard, violations).Check();
  return violations;
}

}  // namespace holdfast::segment
