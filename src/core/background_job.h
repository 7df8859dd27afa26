// A job of the background worker's thread. The thread runs all jobs each time it wakes, and sleeps
// until the first of them is due.
#ifndef HOLDFAST_CORE_BACKGROUND_JOB_H_
#define HOLDFAST_CORE_BACKGROUND_JOB_H_

#include <atomic>
#include <cstdint>

namespace holdfast::core {

class BackgroundJob {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  virtual ~BackgroundJob() = default;

  // Does what can be done now. A job with several tasks ends between two of them when
  // `is_stopping`.
  virtual void Run(const std::atomic<bool>& is_stopping) = 0;
  // The latest time of the next Run() (MonotonicNs), if nothing is added before. kNever: what is
  // added wakes the thread. `now_ns`: the present time.
  virtual uint64_t DueNs(uint64_t now_ns) = 0;
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BACKGROUND_JOB_H_
