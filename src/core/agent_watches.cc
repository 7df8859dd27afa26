#include "core/agent_watches.h"

#include <algorithm>
#include <utility>

#include "segment/watch_registry.h"

namespace holdfast::core {

using segment::ProcessRef;

Result<uint32_t> AgentWatches::Open(std::optional<std::u16string> name) {
  segment::Segment& segment = attachment_.manager().segment();
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
  segment::WatchRegistry watchers(attachment_.manager().segment());
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
  segment::WatchRegistry(attachment_.manager().segment()).Remove(agent_);
}

bool AgentWatches::Arm(uint32_t id) {
  const auto reader = readers_.find(id);
  if (reader == readers_.end()) return false;
  segment::WatchRegistry(attachment_.manager().segment()).Arm(agent_);
  is_armed_ = true;
  return reader->second.IsBehind();
}

bool AgentWatches::HasNews() const {
  return is_armed_ && !segment::WatchRegistry(attachment_.manager().segment()).IsArmed(agent_);
}

// Follows each process that may hold or wait already. Called once a reader has its position, also
// if another reader, of one name, exists: the events that the readers read name later processes.
void AgentWatches::FollowLives() {
  segment::Segment& segment = attachment_.manager().segment();
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
  if (process == attachment_.manager().self()) return;
  if (attachment_.manager().segment().IsNewest(process)) (void)attachment_.worker().Watch(process);
}

}  // namespace holdfast::core
