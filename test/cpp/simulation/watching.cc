#include "simulation/watching.h"

#include <cstring>
#include <utility>
#include <vector>

#include "segment/watch_ring.h"

namespace holdfast::test {

using core::WatchedEvent;
using segment::LockEvent;

namespace {

constexpr uint64_t kNotFound = 0;
constexpr uint32_t kReadEveryNs = 50'000;
constexpr uint32_t kReadSeldomNs = 1'000'000;  // others may write a round meanwhile
constexpr uint32_t kReadLateNs = 20'000'000;

}  // namespace

Watching::Watching(World& world, WatchRecord& record, const LockLog& log,
                   std::optional<std::u16string> name)
    : world_(world), record_(record), log_(log), name_(std::move(name)) {}

void Watching::Open(core::Agent& agent) {
  record_.Read();
  at_least_ = record_.last();
  const Result<uint32_t> id = agent.OpenWatch(name_);
  if (world_.IsGhost()) return;
  if (!id.ok()) return Fail("a watch is refused", 0);
  id_ = *id;
  record_.Read();
  max_ = record_.last();
  opened_behind_ = record_.last();
  opened_at_ = log_.now();
}

void Watching::Read(core::Agent& agent, bool is_quiet) {
  std::vector<WatchedEvent> events;
  const size_t max = 1 + world_.Below(6);
  (void)agent.ReadWatch(id_, max, events);
  if (world_.IsGhost()) return;
  for (const WatchedEvent& event : events) See(event);
  const bool has_more = events.size() == max;
  const uint32_t pause_ns = is_quiet           ? kReadLateNs
                            : world_.OneIn(30) ? kReadSeldomNs
                                               : kReadEveryNs;
  next_read_ns_ = world_.now_ns() + (has_more ? 0 : world_.Below(pause_ns));
}

void Watching::See(const WatchedEvent& event) {
  record_.Read();
  const uint64_t number = Find(event);
  if (number == kNotFound) return Fail("a watcher sees what is not there", at_least_);
  CheckPassedOver(number, event);
  const bool is_end = event.entry.type == static_cast<uint8_t>(LockEvent::kReleased) ||
                      event.entry.type == static_cast<uint8_t>(LockEvent::kDied);
  if (is_end && event.entry.token != 0 && log_.IsHeld(event.entry.token)) {
    Fail("a watcher sees the end of a lock that is held", number);
  }
  at_least_ = number;
  max_ = number;
}

// A watcher of everything passes over nothing except what it counts.
uint64_t Watching::Find(const WatchedEvent& event) const {
  for (uint64_t number = at_least_ + 1 + event.lost; number <= record_.last(); ++number) {
    if (!name_.has_value() && number > max_ + 1 + event.lost) break;
    const WatchRecord::Entry* const entry = record_.At(number);
    if (entry == nullptr || entry->name != event.name) continue;
    if (std::memcmp(&entry->entry, &event.entry, sizeof(event.entry)) == 0) return number;
  }
  return kNotFound;
}

void Watching::CheckPassedOver(uint64_t number, const WatchedEvent& event) {
  for (uint64_t passed = max_ + 1; passed < number; ++passed) {
    const WatchRecord::Entry* const entry = record_.At(passed);
    if (entry == nullptr || !IsOfInterest(*entry)) continue;
    if (event.lost == 0) Fail("a watcher has missed an event without a notice", passed);
    if (!record_.MayBeOverwritten(passed)) Fail("an event is lost for no reason", passed);
  }
}

void Watching::CheckThatAllWasSeen() {
  for (uint64_t number = max_ + 1; number <= record_.last(); ++number) {
    const WatchRecord::Entry* const entry = record_.At(number);
    if (entry != nullptr && IsOfInterest(*entry)) {
      Fail("a watcher has not seen what happened", number);
    }
  }
  const uint64_t missing = record_.CountMissing(opened_behind_);
  uint64_t unseen = 0;
  for (const uint64_t token : log_.TokensSince(opened_at_)) unseen += !record_.HasGrant(token);
  if (unseen > missing) Fail("locks were granted unseen by a watcher", unseen);
}

// Because a program watches, though none waits, and also if the watcher has missed events. A
// process that died while it recorded an end has left a number without an entry.
void Watching::CheckThatTheDeadHaveEnded() {
  uint64_t missing = record_.CountMissing(opened_behind_);
  for (const WatchRecord::Entry* const grant : record_.Unended(opened_behind_)) {
    const uint64_t token = grant->entry.token;
    if (!IsOfInterest(*grant) || log_.IsHeld(token)) continue;
    if (missing-- == 0) return Fail("the end of a lock is not seen by a watcher", token);
  }
}

void Watching::Fail(const std::string& what, uint64_t number) {
  if (fault_.empty()) fault_ = what + ": " + std::to_string(number);
}

}  // namespace holdfast::test
