// The peers to the doorbells of other agents, opened when first rung and kept: one small descriptor
// per agent that was ever rung and still lives.
#ifndef HOLDFAST_CORE_PEER_DOORBELLS_H_
#define HOLDFAST_CORE_PEER_DOORBELLS_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "platform/bucket_directory.h"
#include "platform/doorbell.h"
#include "segment/segment.h"

namespace holdfast::core {

// The names of the FIFOs in the bucket's directory. A generation is never used again in a segment,
// and the name tells the segment, so a file that somebody left behind cannot be taken for another.
std::string DoorbellName(const segment::Segment& segment, const segment::AgentRef& agent);
std::string LifelineName(const segment::Segment& segment, segment::ProcessRef process);

class PeerDoorbells {
 public:
  PeerDoorbells(const platform::BucketDirectory& directory, const segment::Segment& segment)
      : directory_(directory), segment_(segment) {}

  // From any thread. Whoever cannot be rung is gone, or finds its events by its own sweep.
  void Ring(const segment::AgentRef& agent);

 private:
  struct Peer {
    uint32_t generation;
    platform::PeerDoorbell peer;
  };
  // So many are kept; then all are dropped and opened anew when needed.
  static constexpr size_t kMax = 256;

  const platform::BucketDirectory& directory_;
  const segment::Segment& segment_;
  std::mutex mutex_;
  std::unordered_map<uint16_t, Peer> peers_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_PEER_DOORBELLS_H_
