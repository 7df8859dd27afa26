#include "stress/stress_checker.h"

#include <algorithm>

namespace holdfast::test {

void StressChecker::Read(StressEvent event, const StressEntry& entry) {
  if (event == StressEvent::kDying) return Die(entry.process);
  if (event == StressEvent::kNone) return;
  Name& name = names_[entry.name];
  // A stealer may have stolen, and died before it said so.
  if (event == StressEvent::kStealBegins) ++name.pending_steals[entry.agent];
  if (dead_.contains(entry.process)) return;
  if (event == StressEvent::kEnter) Enter(name, entry);
  if (event == StressEvent::kLeave) Leave(name, entry);
}

void StressChecker::Enter(Name& name, const StressEntry& entry) {
  ++grants_;
  if (!tokens_.insert(entry.token).second) Violate("a token twice", entry, entry);
  if (entry.token <= newest_before_) Violate("a token that is not newer", entry, entry);
  newest_token_ = std::max(newest_token_, entry.token);
  if (entry.steals) {
    --name.pending_steals[entry.agent];
    name.steal_tokens.insert(entry.token);
  } else if (!name.queued.emplace(entry.ticket, entry).second) {
    Violate("a ticket twice", entry, entry);
  }
  CheckInside(name, entry);
  name.inside.emplace(entry.token, entry);
}

void StressChecker::CheckInside(Name& name, const StressEntry& entry) {
  // Held before, and still held now: held at the time of the grant.
  Overlap shared{{}, entry, entry.limit};
  for (const auto& [token, other] : name.inside) {
    const bool is_older = token < entry.token;
    const StressEntry& older = is_older ? other : entry;
    const StressEntry& newer = is_older ? entry : other;
    if (IsOver(older, newer)) {
      expiries_ += Excludes(older, newer) ? 1 : 0;
      continue;
    }
    if (Excludes(older, newer)) name.overlaps.push_back({{older}, newer});
    if (is_older) shared.older.push_back(other);
  }
  if (entry.limit != 0 && shared.older.size() >= entry.limit) name.overlaps.push_back(shared);
}

void StressChecker::Leave(Name& name, const StressEntry& entry) {
  if (name.inside.erase(entry.token) == 0) Violate("a leaver was not inside", entry, entry);
}

void StressChecker::Die(uint32_t process) {
  dead_.insert(process);
  for (auto& [number, name] : names_) {
    std::erase_if(name.inside,
                  [process](const auto& inside) { return inside.second.process == process; });
  }
}

void StressChecker::FinishRound() {
  for (auto& [number, name] : names_) {
    for (Overlap& overlap : name.overlaps) Judge(name, overlap);
    JudgeOrder(name);
    for (const auto& [token, entry] : name.inside) Violate("never left", entry, entry);
  }
  names_.clear();
  tokens_.clear();
  newest_before_ = newest_token_;
}

// By priority, then by age, with a bound: of the younger requests (a larger ticket) only those with
// a higher priority may have been granted before, and only so many. Of a request whose priority has
// changed, only their number is judged. Knows the rule, and nothing of the lock table.
void StressChecker::JudgeOrder(const Name& name) {
  constexpr int kChanged = 3;  // above all priorities
  constexpr int kMaxOvertakes = 16;
  std::set<uint64_t> younger[kChanged + 1];  // their tokens
  for (auto it = name.queued.rbegin(); it != name.queued.rend(); ++it) {
    const StressEntry& entry = it->second;
    const int own = entry.has_changed ? kChanged : static_cast<int>(entry.priority);
    int overtakes = 0;
    for (int priority = 0; priority <= kChanged; ++priority) {
      const bool may_pass = own == kChanged || priority > own;
      for (const uint64_t token : younger[priority]) {
        if (token > entry.token || overtakes > kMaxOvertakes) break;
        if (!may_pass) Violate("overtaken", entry, entry);
        if (!may_pass) break;
        ++overtakes;
      }
    }
    if (overtakes > kMaxOvertakes && !entry.has_fallen)
      Violate("overtaken too often", entry, entry);
    overtakes_ += static_cast<uint64_t>(overtakes);
    younger[own].insert(entry.token);
  }
}

bool StressChecker::Excludes(const StressEntry& older, const StressEntry& newer) {
  return older.is_exclusive || newer.is_exclusive;
}

// The lock may have been taken away at its hold limit, which does not begin before the request.
bool StressChecker::IsOver(const StressEntry& older, const StressEntry& newer) {
  return older.hold_limit_ns != 0 && newer.now_ns - older.requested_ns >= older.hold_limit_ns;
}

void StressChecker::Judge(const Name& name, Overlap& overlap) {
  steals_ += std::erase_if(overlap.older, [&](const StressEntry& older) {
    return WasStolen(name, older, overlap.newer);
  });
  if (overlap.older.size() < overlap.too_many) return;
  Violate("too many inside", overlap.older.front(), overlap.newer);
}

// By a stealer that came between them, or by a stealer that died before it logged its grant.
bool StressChecker::WasStolen(const Name& name, const StressEntry& older,
                              const StressEntry& newer) {
  const auto stealer = name.steal_tokens.upper_bound(older.token);
  if (stealer != name.steal_tokens.end() && *stealer <= newer.token) return true;
  return std::any_of(name.pending_steals.begin(), name.pending_steals.end(),
                     [](const auto& steals) { return steals.second > 0; });
}

void StressChecker::Violate(const char* what, const StressEntry& entry, const StressEntry& other) {
  const auto describe = [](const StressEntry& of) {
    return " process " + std::to_string(of.process) + " agent " + std::to_string(of.agent) +
           " ticket " + std::to_string(of.ticket) + " token " + std::to_string(of.token) +
           (of.is_exclusive ? " exclusive" : " shared");
  };
  violations_.push_back(std::string(what) + ": name " + std::to_string(entry.name) +
                        describe(entry) + " and" + describe(other));
}

}  // namespace holdfast::test
