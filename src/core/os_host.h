// The real segment::Host: the lock table's services, taken from the operating system through
// platform/.
#ifndef HOLDFAST_CORE_OS_HOST_H_
#define HOLDFAST_CORE_OS_HOST_H_

#include <atomic>
#include <cstdint>

#include "core/peer_doorbells.h"
#include "core/process_slots.h"
#include "platform/bucket_directory.h"
#include "platform/clock.h"
#include "platform/segment_file.h"
#include "segment/backing.h"
#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::core {

class OsHost final : public segment::Host {
 public:
  // All of them outlive the object.
  OsHost(const platform::BucketDirectory& directory, platform::SegmentFile& file,
         segment::Segment& segment, ProcessSlots& slots)
      : directory_(directory),
        file_(file),
        segment_(segment),
        slots_(slots),
        backing_(segment.geometry(), *this),
        peer_doorbells_(directory, segment),
        clock_id_(platform::MonotonicClockId()) {}

  // The parts of the file that this process has seen allocated, for Segment::UseBacking().
  segment::Backing& backing() { return backing_; }

  bool IsAlive(segment::ProcessRef process) override { return slots_.IsAlive(process); }
  void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) override;
  void FutexWake(std::atomic<uint32_t>* word) override;
  uint32_t CurrentCpu() override;
  void Pause() override;
  uint64_t MonotonicNs() override { return platform::MonotonicNs(); }
  uint32_t ClockId() override { return clock_id_; }
  uint64_t RealtimeMs() override { return platform::CoarseRealtimeMs(); }
  bool Ring(const segment::AgentRef& agent) override { return peer_doorbells_.Ring(agent); }
  void RemoveDoorbell(const segment::AgentRef& agent) override;
  void RemoveLifeline(segment::ProcessRef process) override;
  Status Allocate(uint64_t offset, uint64_t length) override;

 private:
  const platform::BucketDirectory& directory_;
  platform::SegmentFile& file_;
  segment::Segment& segment_;
  ProcessSlots& slots_;
  segment::Backing backing_;
  PeerDoorbells peer_doorbells_;
  const uint32_t clock_id_;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_OS_HOST_H_
