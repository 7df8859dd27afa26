// Clocks of this machine, and the identity of its current boot.
#ifndef HOLDFAST_PLATFORM_CLOCK_H_
#define HOLDFAST_PLATFORM_CLOCK_H_

#include <array>
#include <cstdint>

#include "platform/result.h"

namespace holdfast {
inline namespace platform {

inline constexpr uint64_t kNsPerMs = 1'000'000;

// Monotonic. Only differences have a meaning, and only in this process: time namespaces shift it.
uint64_t MonotonicNs();
// Equal in processes whose MonotonicNs() can be compared; 0: not known.
uint32_t MonotonicClockId();
// Since 1970; may be set by hand, also backwards.
uint64_t RealtimeNs();
// The same, late by some milliseconds, at the price of reading memory.
uint64_t CoarseRealtimeMs();

// Cannot be guessed if the system has random numbers.
uint64_t RandomWord();

using BootId = std::array<uint8_t, 16>;

// Changes with every boot; all zero if procfs is not mounted. kOsError: procfs returned something
// else than an id.
Result<BootId> ReadBootId();

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CLOCK_H_
