#include "simulation/lock_log.h"

namespace holdfast::test {

LockLog::Number LockLog::Begin(const Request& request) {
  entries_.push_back({.request = request, .begun_at = ++time_});
  const Number number = entries_.size() - 1;
  by_name_[request.name].push_back(number);
  if (request.steals) steals_[request.name].push_back(number);
  return number;
}

void LockLog::Changing(Number number, Priority priority) {
  Entry& entry = entries_[number];
  entry.has_changed = true;
  if (priority < entry.request.priority) entry.has_fallen = true;
  entry.request.priority = priority;
}

void LockLog::Granted(Number number, uint64_t token) {
  Entry& entry = entries_[number];
  if (entry.state != State::kRequested) Fail("a grant that was not requested", number, number);
  // An overtaken request may have been refused, and its program not be notified yet.
  if (entry.overtaken_by != 0) Fail("a request was overtaken", entry.overtaken_by - 1, number);
  entry.state = State::kHeld;
  entry.token = token;
  entry.granted_at = ++time_;
  ++grants_;
  if (!tokens_.emplace(token, number).second) Fail("a token was given twice", number, number);
  for (const Number other : by_name_[entry.request.name]) {
    if (other != number) CheckPair(number, other);
  }
}

void LockLog::CheckPair(Number number, Number other) {
  const Entry& granted = entries_[number];
  const Entry& earlier = entries_[other];
  if (earlier.state == State::kHeld && Excludes(granted, earlier)) {
    const bool is_newer = granted.token > earlier.token;
    if (!MayBeStolen(is_newer ? earlier : granted)) Fail("two hold one lock", number, other);
  }
  if (granted.request.steals || earlier.request.steals) return;
  if (earlier.state == State::kRequested && IsYounger(granted, earlier) &&
      Excludes(granted, earlier) && !MayBeStolen(earlier)) {
    Entry& overtaken = entries_[other];
    const bool may_pass = HaveChanged(granted, earlier) || MayPass(granted, earlier);
    if (!may_pass) overtaken.overtaken_by = number + 1;
    if (may_pass && !earlier.has_fallen && ++overtaken.overtakes > segment::kMaxOvertakes) {
      Fail("a request was overtaken too often", number, other);
    }
  }
  if (earlier.token == 0) return;
  const auto is_in_order = [](const Entry& later, const Entry& first) {
    return !IsYounger(later, first) || HaveChanged(later, first) || MayPass(later, first) ||
           later.token > first.token;
  };
  if (!is_in_order(granted, earlier) || !is_in_order(earlier, granted))
    Fail("the tokens are not in the order of the queue", number, other);
}

// A steal takes the lock from the previous holder. The time of the steal is unknown if the stealer
// died, or has not been notified yet.
bool LockLog::MayBeStolen(const Entry& entry) const {
  const auto steals = steals_.find(entry.request.name);
  if (steals == steals_.end()) return false;
  for (const Number number : steals->second) {
    const Entry& stealer = entries_[number];
    if (&stealer != &entry && (stealer.token == 0 || stealer.token > entry.token)) return true;
  }
  return false;
}

void LockLog::Lost(Number number) {
  if (!MayBeStolen(entries_[number])) Fail("a lock was taken away", number, number);
  Ended(number);
}

// A stealer that was granted its lock before this end began has taken the lock away.
void LockLog::Answered(Number number, bool is_loss) {
  const Entry& entry = entries_[number];
  if (is_loss && !MayBeStolen(entry)) Fail("a release reports a loss", number, number);
  if (is_loss || entry.token == 0) return;
  for (const Number other : steals_[entry.request.name]) {
    const Entry& stealer = entries_[other];
    const bool has_stolen = other != number && stealer.token > entry.token &&
                            stealer.granted_at < entry.ended_at && stealer.granted_at != 0;
    if (has_stolen) Fail("a stolen lock was released as if it was held", number, other);
  }
}

bool LockLog::IsHeld(uint64_t token) const {
  const auto it = tokens_.find(token);
  return it != tokens_.end() && entries_[it->second].state == State::kHeld;
}

std::vector<uint64_t> LockLog::TokensSince(uint64_t time) const {
  std::vector<uint64_t> tokens;
  for (const auto& [token, number] : tokens_) {
    if (entries_[number].begun_at > time) tokens.push_back(token);
  }
  return tokens;
}

void LockLog::ProcessDied(uint32_t process) {
  for (Entry& entry : entries_) {
    if (entry.request.process == process) entry.state = State::kEnded;
  }
}

void LockLog::Fail(const std::string& what, Number number, Number other) {
  if (!fault_.empty()) return;
  fault_ = what + ": requests " + std::to_string(number) + " and " + std::to_string(other) +
           " for name " + std::to_string(entries_[number].request.name) + ", of processes " +
           std::to_string(entries_[number].request.process) + " and " +
           std::to_string(entries_[other].request.process);
}

}  // namespace holdfast::test
