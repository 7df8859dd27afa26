// The operating system services that the lock table needs: a clock, liveness, a futex, a doorbell.
// The addon provides the real ones, tests provide fakes.
#ifndef HOLDFAST_SEGMENT_HOST_H_
#define HOLDFAST_SEGMENT_HOST_H_

#include <atomic>
#include <cstdint>

#include "platform/status.h"
#include "segment/owner.h"

namespace holdfast::segment {

class Host {
 public:
  virtual ~Host() = default;

  // Whether the process that claimed this slot in this generation still lives. Checks with the
  // kernel: a system call.
  virtual bool IsAlive(ProcessRef process) = 0;
  // Sleeps until woken, at most `timeout_ns`; also returns when `word` is not `expected`.
  virtual void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) = 0;
  virtual void FutexWake(std::atomic<uint32_t>* word) = 0;
  // 1 + the number of the CPU on which this thread runs; 0: not known.
  virtual uint32_t CurrentCpu() = 0;
  // A pause in a loop that polls.
  virtual void Pause() = 0;
  virtual uint64_t MonotonicNs() = 0;
  // Identifies the clock of MonotonicNs(): times of two processes are comparable if this is equal
  // and not 0.
  virtual uint32_t ClockId() = 0;
  // Since 1970, for display: cheap rather than exact.
  virtual uint64_t RealtimeMs() = 0;
  // Wakes the agent's event loop. False: the agent was not woken, though it may live. Then a later
  // ring of another process wakes it, or its own sweep finds the events.
  virtual bool Ring(const AgentRef& agent) = 0;
  // These remove files of a dead process. A missing file is not an error.
  virtual void RemoveDoorbell(const AgentRef& agent) = 0;
  virtual void RemoveLifeline(ProcessRef process) = 0;
  // Allocates these bytes of the segment. kNoSpace: there is no room left.
  virtual Status Allocate(uint64_t offset, uint64_t length) = 0;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_HOST_H_
