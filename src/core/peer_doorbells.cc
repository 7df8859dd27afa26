#include "core/peer_doorbells.h"

#include <algorithm>
#include <utility>

namespace holdfast::core {

namespace {

[[gnu::cold]] std::string FileName(const segment::Segment& segment, char kind, uint32_t number,
                                   uint32_t generation) {
  std::string name(1, kind);
  name += std::to_string(number);
  name += '-';
  name += std::to_string(generation);
  name += '-';
  name += std::to_string(segment.Id());
  return name;
}

}  // namespace

std::string DoorbellName(const segment::Segment& segment, const segment::AgentRef& agent) {
  return FileName(segment, 'a', agent.index, agent.generation);
}

std::string LifelineName(const segment::Segment& segment, segment::ProcessRef process) {
  return FileName(segment, 'p', process.slot, process.generation);
}

bool PeerDoorbells::Ring(const segment::AgentRef& agent) {
  if (agent.generation == 0) return true;
  const std::lock_guard<std::mutex> guard(mutex_);
  Status rung = TryRing(agent);
  // The program has closed the descriptor: the doorbell is opened again.
  if (rung.code() == StatusCode::kDisconnected) rung = TryRing(agent);
  return rung.ok() || rung.code() == StatusCode::kClosed;
}

// REQUIRES: mutex_.
Status PeerDoorbells::TryRing(const segment::AgentRef& agent) {
  auto it = peers_.find(agent.index);
  if (it != peers_.end() && it->second.generation != agent.generation) {
    peers_.erase(it);
    it = peers_.end();
  }
  if (it == peers_.end()) {
    const Status opened = Open(agent);
    if (!opened.ok()) return opened;
    it = peers_.find(agent.index);
  }
  const Status rung = it->second.peer.Ring();
  if (!rung.ok()) peers_.erase(it);
  return rung;
}

// REQUIRES: mutex_.
[[gnu::cold]] Status PeerDoorbells::Open(const segment::AgentRef& agent) {
  Result<platform::PeerDoorbell> peer =
      platform::PeerDoorbell::Open(directory_, DoorbellName(segment_, agent));
  if (!peer.ok() && peer.status().code() == StatusCode::kTooManyFiles) {
    peers_.clear();
    peer = platform::PeerDoorbell::Open(directory_, DoorbellName(segment_, agent));
  }
  if (!peer.ok()) return peer.status();
  DropPeerOf(peer->fd());
  if (peers_.size() >= kMax) peers_.clear();
  peers_.emplace(agent.index, Peer{agent.generation, std::move(*peer)});
  return Status();
}

// The program has closed the descriptor of another peer, and the marks of both may be the same.
[[gnu::cold]] void PeerDoorbells::DropPeerOf(int fd) {
  const auto other = std::find_if(peers_.begin(), peers_.end(),
                                  [fd](const auto& open) { return open.second.peer.fd() == fd; });
  if (other == peers_.end()) return;
  other->second.peer.Disown();
  peers_.erase(other);
}

}  // namespace holdfast::core
