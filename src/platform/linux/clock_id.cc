#include <sys/stat.h>

#include "platform/clock.h"

namespace holdfast {
inline namespace platform {

// The id of the time namespace. A kernel without time namespaces has one clock for all.
uint32_t MonotonicClockId() {
  struct stat found {};
  if (stat("/proc/self/ns/time", &found) == 0) return static_cast<uint32_t>(found.st_ino);
  return stat("/proc/self/ns", &found) == 0 ? 1 : 0;
}

}  // namespace platform
}  // namespace holdfast
