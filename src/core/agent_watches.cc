#include "core/agent_watches.h"

#include <algorithm>
#include <utility>

#include "segment/watch_ring.h"

namespace holdfast::core {

using segment::WatchRing;

namespace {

// Only a few stores lie between the number and the entry: a writer that needs longer is stopped or
// dead.
constexpr uint64_t kPatienceNs = 100'000'000;

}  // namespace

WatchRingReader::WatchRingReader(segment::Segment& segment, std::optional<std::u16string> name)
    : watch_ring_(segment),
      slots_(segment.geometry().watch_ring_slots),
      name_(std::move(name)),
      next_(watch_ring_.Last() + 1) {
  const size_t max = segment.geometry().MaxWatchRingUnits();
  if (name_.has_value() && name_->size() > max) name_->resize(max);
}

std::optional<WatchedEvent> WatchRingReader::Next(uint64_t now_ns) {
  WatchedEvent event;
  for (uint64_t steps = 0; steps < slots_ && Step(now_ns, event); ++steps) {
    if (event.entry.type == 0 || !IsOfInterest(event)) continue;
    event.lost = lost_ - std::exchange(lost_reported_, lost_);
    return event;
  }
  return std::nullopt;
}

// Advances by one entry; its type is 0 if it was lost.
bool WatchRingReader::Step(uint64_t now_ns, WatchedEvent& event) {
  const uint64_t last = watch_ring_.Last();
  event.entry.type = 0;
  if (last + 1 < next_) next_ = last + 1;  // corruption: numbers only rise
  if (last + 1 == next_) return false;
  if (last - next_ >= slots_) {
    lost_ += last - slots_ + 1 - next_;
    next_ = last - slots_ + 1;
  }
  switch (watch_ring_.Read(next_, event.entry, event.name)) {
    case WatchRing::Found::kEntry:
      ++next_;
      return true;
    case WatchRing::Found::kNameless:
      event.entry.type = 0;
      Skip();
      return true;
    default:
      // Overwritten during the read: count it as lost and continue.
      if (watch_ring_.Last() - next_ >= slots_) return true;
      if (!IsPatienceOver(now_ns)) return false;
      Skip();
      return true;
  }
}

void WatchRingReader::Skip() {
  ++lost_;
  ++next_;
}

// The wait for all numbers taken so far begins now.
bool WatchRingReader::IsPatienceOver(uint64_t now_ns) {
  if (next_ > gap_end_) {
    gap_end_ = watch_ring_.Last();
    gap_since_ns_ = now_ns;
  }
  return now_ns - gap_since_ns_ >= kPatienceNs;
}

bool WatchRingReader::IsOfInterest(const WatchedEvent& event) const {
  if (is_paused_ && !segment::IsIncident(static_cast<segment::LockEvent>(event.entry.type))) {
    return false;
  }
  return !name_.has_value() || event.name == *name_;
}

using segment::ProcessRef;

Result<uint32_t> AgentWatches::Open(std::optional<std::u16string> name) {
  segment::Segment& segment = attachment_.lock_table().segment();
  if (readers_.empty()) {
    // Before any process writes there.
    const segment::Geometry& g = segment.geometry();
    const Status allocated =
        attachment_.host().Allocate(g.watch_ring_at, g.extents_at - g.watch_ring_at);
    if (!allocated.ok()) return allocated;
    followed_.assign(g.processes, 0);
  }
  if (!IsAnyActive()) segment::WatchRegistry(segment).Add(agent_);
  readers_.emplace(++last_id_, WatchRingReader(segment, std::move(name)));
  FollowLives();
  return last_id_;
}

void AgentWatches::SetPaused(uint32_t id, bool is_paused) {
  const auto reader = readers_.find(id);
  if (reader == readers_.end() || reader->second.is_paused() == is_paused) return;
  const bool was_any_active = IsAnyActive();
  reader->second.SetPaused(is_paused);
  segment::WatchRegistry watchers(attachment_.lock_table().segment());
  if (was_any_active && !IsAnyActive()) watchers.Remove(agent_);
  if (!was_any_active && IsAnyActive()) watchers.Add(agent_);
  if (!is_paused) FollowLives();
}

bool AgentWatches::IsAnyActive() const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](const auto& entry) { return !entry.second.is_paused(); });
}

void AgentWatches::Read(uint32_t id, size_t max, std::vector<WatchedEvent>& events) {
  const auto found = readers_.find(id);
  if (found == readers_.end()) return;
  WatchRingReader& reader = found->second;
  const uint64_t lost_before = reader.lost();
  const uint64_t now_ns = attachment_.host().MonotonicNs();
  while (events.size() < max) {
    std::optional<WatchedEvent> event = reader.Next(now_ns);
    if (!event.has_value()) break;
    FollowLife(ProcessRef::FromWord(event->entry.process));
    events.push_back(std::move(*event));
  }
  // Only the lost events may have named a new process.
  if (reader.lost() != lost_before && !reader.is_paused()) FollowLives();
}

void AgentWatches::Close(uint32_t id) {
  if (readers_.erase(id) == 0 || IsAnyActive()) return;
  segment::WatchRegistry(attachment_.lock_table().segment()).Remove(agent_);
}

bool AgentWatches::Arm(uint32_t id) {
  const auto reader = readers_.find(id);
  if (reader == readers_.end()) return false;
  segment::WatchRegistry(attachment_.lock_table().segment()).Arm(agent_);
  is_armed_ = true;
  return reader->second.IsBehind();
}

bool AgentWatches::HasNews() const {
  return is_armed_ && !segment::WatchRegistry(attachment_.lock_table().segment()).IsArmed(agent_);
}

// Follows each process that may hold or wait already. Called once a reader has its position, also
// if another reader, of one name, exists: the events that the readers read name later processes.
void AgentWatches::FollowLives() {
  segment::Segment& segment = attachment_.lock_table().segment();
  for (uint32_t slot = 0; slot < segment.geometry().processes; ++slot) {
    const segment::ProcessEntry& entry = segment.process(slot);
    const uint32_t generation = entry.generation.Acquire();
    if (generation == entry.cleaned_generation.Acquire()) continue;
    FollowLife({static_cast<uint16_t>(slot), generation});
  }
}

void AgentWatches::FollowLife(ProcessRef process) {
  if (process.slot >= followed_.size() || followed_[process.slot] == process.generation) return;
  followed_[process.slot] = process.generation;
  if (process == attachment_.lock_table().self()) return;
  if (attachment_.lock_table().segment().IsNewest(process))
    (void)attachment_.worker().Watch(process);
}

}  // namespace holdfast::core
