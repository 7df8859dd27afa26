#include "core/bell_ropes.h"

#include <utility>

namespace holdfast::core {

namespace {

std::string FileName(const segment::Segment& segment, char kind, uint32_t number,
                     uint32_t generation) {
  std::string name(1, kind);
  name += std::to_string(number);
  name += '-';
  name += std::to_string(generation);
  name += '-';
  name += std::to_string(segment.header().segment_id.Get());
  return name;
}

}  // namespace

std::string BellName(const segment::Segment& segment, const segment::AgentRef& agent) {
  return FileName(segment, 'a', agent.index, agent.generation);
}

std::string LifelineName(const segment::Segment& segment, segment::ProcessRef process) {
  return FileName(segment, 'p', process.slot, process.generation);
}

void BellRopes::Ring(const segment::AgentRef& agent) {
  if (agent.generation == 0) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  auto it = ropes_.find(agent.index);
  if (it != ropes_.end() && it->second.generation != agent.generation) {
    ropes_.erase(it);
    it = ropes_.end();
  }
  if (it == ropes_.end()) {
    Result<platform::BellRope> rope =
        platform::BellRope::Open(directory_, BellName(segment_, agent));
    if (!rope.ok() && rope.status().code() == StatusCode::kTooManyFiles) {
      ropes_.clear();
      rope = platform::BellRope::Open(directory_, BellName(segment_, agent));
    }
    if (!rope.ok()) return;
    if (ropes_.size() >= kMost) ropes_.clear();
    it = ropes_.emplace(agent.index, Rope{agent.generation, std::move(*rope)}).first;
  }
  if (!it->second.rope.Ring().ok()) ropes_.erase(it);
}

}  // namespace holdfast::core
