// What the lock table needs from the world outside: a clock, liveness, a futex, a doorbell. The
// addon gives it the real ones, tests give fakes.
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

  // Whether the process that claimed this slot in this generation still lives. The truth, asked of
  // the kernel; a system call.
  virtual bool IsAlive(ProcessRef process) = 0;
  // Sleeps until woken, at most `timeout_ns`; also returns when `word` is not `expected`.
  virtual void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) = 0;
  virtual void FutexWake(std::atomic<uint32_t>* word) = 0;
  // 1 + the number of the processor that this thread runs on; 0: not known.
  virtual uint32_t CurrentCpu() = 0;
  // Passes a moment of a wait that does not sleep.
  virtual void Pause() = 0;
  virtual uint64_t MonotonicNs() = 0;
  // Tells the clock of MonotonicNs() from those of other time namespaces: times of two processes
  // can be compared where this is equal and not 0.
  virtual uint32_t ClockId() = 0;
  // Since 1970; to show. Cheaper than exact.
  virtual uint64_t RealtimeMs() = 0;
  // Wakes the agent's event loop. A doorbell that cannot be rung is no error: the agent is dead, or
  // its own sweep finds what it missed.
  virtual void Ring(const AgentRef& agent) = 0;
  // Remove what the dead left outside of the segment. Nothing there is no error.
  virtual void RemoveDoorbell(const AgentRef& agent) = 0;
  virtual void RemoveLifeline(ProcessRef process) = 0;
  // Makes sure that these bytes of the segment have memory behind them. kSegmentFull: none left.
  virtual Status Allocate(uint64_t offset, uint64_t length) = 0;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_HOST_H_
