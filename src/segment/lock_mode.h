// The two modes of the standard, with their numbers in the segment. Standard: Web Locks, LockMode
// (#enumdef-lockmode).
#ifndef HOLDFAST_SEGMENT_LOCK_MODE_H_
#define HOLDFAST_SEGMENT_LOCK_MODE_H_

#include <cstdint>

namespace holdfast {

enum class LockMode : uint8_t { kExclusive = 0, kShared = 1 };

constexpr bool IsLockMode(uint8_t value) { return value <= 1; }

}  // namespace holdfast

#endif  // HOLDFAST_SEGMENT_LOCK_MODE_H_
