#include "simulation/watch_record.h"

#include <algorithm>
#include <utility>

#include "core/request_params.h"
#include "segment/watch_ring.h"

namespace holdfast::test {

using segment::LockEvent;
using segment::WatchRing;

namespace {

// Less than what a watcher grants an entry that is being written.
constexpr uint64_t kLateNs = 50'000'000;

bool IsGrant(const WatchRecord::Entry& entry) {
  return entry.entry.type == static_cast<uint8_t>(LockEvent::kGranted);
}

}  // namespace

WatchRecord::WatchRecord(World& world)
    : world_(world),
      table_(world.kernel().memory(), segment::Geometry::ForCapacity(SimulatedCapacity())) {}

void WatchRecord::Read() {
  const Undisturbed undisturbed;
  const uint64_t now_last = table_.header().last_entry.Get();
  NoteWhoWatches();
  while (last_ < now_last) pending_.push_back({++last_, world_.now_ns()});
  const uint64_t slots = table_.geometry().watch_ring_slots;
  std::erase_if(pending_, [&](const Pending& pending) {
    Entry entry;
    if (WatchRing(table_).Read(pending.number, entry.entry, entry.name) ==
        WatchRing::Found::kEntry) {
      entry.is_late = world_.now_ns() - pending.since_ns >= kLateNs;
      entries_.emplace(pending.number, std::move(entry));
      return true;
    }
    const bool is_over = last_ - pending.number >= slots;
    if (is_over) late_.insert(pending.number);
    return is_over;
  });
  FollowWhatIsComplete();
}

void WatchRecord::Finish() {
  Read();
  pending_.clear();
  FollowWhatIsComplete();
}

// Entries behind an entry that is still being written are followed after it.
void WatchRecord::FollowWhatIsComplete() {
  const uint64_t complete = pending_.empty() ? last_ : pending_.front().number - 1;
  while (followed_ < complete) Follow(++followed_);
}

// While no agent watches, locks end unseen.
void WatchRecord::NoteWhoWatches() {
  uint64_t watched = 0;
  for (uint32_t i = 0; i < table_.geometry().shards; ++i) {
    watched += table_.shard(i).watched.Get();
  }
  if (watched == watched_) return;
  watched_ = watched;
  known_from_ = table_.header().last_entry.Get();
  held_.clear();
}

const WatchRecord::Entry* WatchRecord::At(uint64_t number) const {
  const auto it = entries_.find(number);
  return it == entries_.end() ? nullptr : &it->second;
}

bool WatchRecord::MayBeOverwritten(uint64_t number) const {
  const segment::Geometry& g = table_.geometry();
  const Entry* const entry = At(number);
  if (last_ - number >= g.watch_ring_slots || entry == nullptr || entry->is_late) return true;
  const bool is_long = entry->entry.name_length > segment::kEntryUnits;
  const Undisturbed undisturbed;
  const uint64_t words = table_.header().watch_ring_words.Get();
  if (is_long && words - entry->entry.text_at > g.watch_ring_words) return true;
  // By a process that was stopped while it wrote, a round ago or more.
  return std::any_of(late_.begin(), late_.end(), [&](uint64_t late) {
    return late < number && (number - late) % g.watch_ring_slots == 0;
  });
}

uint64_t WatchRecord::CountMissing(uint64_t from) const {
  uint64_t missing = 0;
  for (uint64_t number = from + 1; number <= last_; ++number) missing += At(number) == nullptr;
  return missing;
}

std::vector<const WatchRecord::Entry*> WatchRecord::Unended(uint64_t from) const {
  std::vector<const Entry*> grants;
  for (const auto& [token, number] : granted_) {
    const bool is_known = number > from && number > known_from_;
    if (is_known && !ended_.contains(token)) grants.push_back(At(number));
  }
  return grants;
}

void WatchRecord::Follow(uint64_t number) {
  const Entry* const entry = At(number);
  if (number <= known_from_ || entry == nullptr) held_.clear();
  if (entry == nullptr || entry->entry.token == 0) return;
  if (!IsGrant(*entry)) return FollowEnd(*entry);
  if (!granted_.emplace(entry->entry.token, number).second) {
    Fail("a grant was written down twice", entry->entry.token);
  }
  if (number > known_from_) FollowGrant(*entry);
}

void WatchRecord::FollowGrant(const Entry& entry) {
  const auto facts = segment::RequestFacts::FromByte(entry.entry.request_facts);
  const bool is_exclusive = facts.mode == LockMode::kExclusive;
  for (const auto& [token, held] : held_) {
    if (held.name != entry.name || (!held.is_exclusive && !is_exclusive)) continue;
    Fail("in the watch_ring two hold one lock", entry.entry.token);
  }
  held_[entry.entry.token] = {entry.name, is_exclusive};
}

void WatchRecord::FollowEnd(const Entry& entry) {
  held_.erase(entry.entry.token);
  const auto [earlier, is_first] = ended_.emplace(entry.entry.token, entry.entry.type);
  // A repair that begins anew records the dead again.
  const auto died = static_cast<uint8_t>(LockEvent::kDied);
  // If it dies, too, and a new process has locked the byte of the dead owner's slot but not raised
  // the generation yet, the owner looks alive: its published release is executed.
  const auto released = static_cast<uint8_t>(LockEvent::kReleased);
  const bool is_end_of_the_dead =
      earlier->second == died && (entry.entry.type == died || entry.entry.type == released);
  if (!is_first && !is_end_of_the_dead) {
    Fail("the end of a lock was written down twice", entry.entry.token);
  }
}

void WatchRecord::Fail(const std::string& what, uint64_t token) {
  if (!fault_.empty()) return;
  fault_ = what + ": token " + std::to_string(token);
  for (const auto& [number, entry] : entries_) {
    if (entry.entry.token != token) continue;
    fault_ += ", " + std::to_string(number) + ": type " + std::to_string(entry.entry.type) +
              " of process " + std::to_string(entry.entry.process_id);
  }
}

}  // namespace holdfast::test
