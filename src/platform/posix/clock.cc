#include "platform/clock.h"

#include <ctime>

namespace holdfast {
inline namespace platform {
namespace {

uint64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t MonotonicNs() { return Now(CLOCK_MONOTONIC); }
uint64_t RealtimeNs() { return Now(CLOCK_REALTIME); }

uint64_t CoarseRealtimeMs() {
#ifdef CLOCK_REALTIME_COARSE
  return Now(CLOCK_REALTIME_COARSE) / 1'000'000;
#else
  return Now(CLOCK_REALTIME) / 1'000'000;
#endif
}

}  // namespace platform
}  // namespace holdfast
