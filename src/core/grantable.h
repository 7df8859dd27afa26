// The grant rule. Standard: Web Locks, "grantable" (#concept-lock-request).
#ifndef HOLDFAST_CORE_GRANTABLE_H_
#define HOLDFAST_CORE_GRANTABLE_H_

#include <cstdint>

#include "segment/lock_mode.h"

namespace holdfast::core {

struct HeldCounts {
  uint32_t exclusive = 0;
  uint32_t shared = 0;
};

// For a request with ifAvailable, "first" means that the queue is empty.
constexpr bool IsGrantable(LockMode mode, bool is_first_in_queue, HeldCounts held) noexcept {
  if (!is_first_in_queue || held.exclusive > 0) return false;
  return mode == LockMode::kShared || held.shared == 0;
}

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_GRANTABLE_H_
