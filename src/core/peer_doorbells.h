// Cache of the write ends of peers' doorbells, opened at the first ring: one descriptor per live
// agent that was ever rung.
#ifndef HOLDFAST_CORE_PEER_DOORBELLS_H_
#define HOLDFAST_CORE_PEER_DOORBELLS_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "platform/bucket_directory.h"
#include "platform/doorbell.h"
#include "platform/status.h"
#include "segment/segment.h"

namespace holdfast::core {

// The names of the FIFOs in the bucket's directory. Generations are never reused in a segment, and
// the name contains the segment's id, so an abandoned file is never taken for another agent's.
std::string DoorbellName(const segment::Segment& segment, const segment::AgentRef& agent);
std::string LifelineName(const segment::Segment& segment, segment::ProcessRef process);

class PeerDoorbells {
 public:
  PeerDoorbells(const platform::BucketDirectory& directory, segment::Segment& segment)
      : directory_(directory), segment_(segment) {}

  // Any thread. False: the peer was not rung, though it may live. True also for a dead peer.
  bool Ring(const segment::AgentRef& agent);

 private:
  Status TryRing(const segment::AgentRef& agent);
  Status Open(const segment::AgentRef& agent);
  void DropPeerOf(int fd);
  struct Peer {
    uint32_t generation;
    platform::PeerDoorbell peer;
  };
  // The size of the cache; when it is full, all are closed and reopened at need.
  static constexpr size_t kMax = 256;

  const platform::BucketDirectory& directory_;
  segment::Segment& segment_;
  std::mutex mutex_;
  std::unordered_map<uint16_t, Peer> peers_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_PEER_DOORBELLS_H_
