// The grant rule. Standard: Web Locks, "grantable" (#concept-lock-request). Beyond the standard a
// shared request may have a limit: the maximum number of shared holders, itself included.
#ifndef HOLDFAST_CORE_GRANTABLE_H_
#define HOLDFAST_CORE_GRANTABLE_H_

#include <cstdint>

#include "segment/layout.h"
#include "segment/lock_mode.h"

namespace holdfast::core {

struct HeldCounts {
  uint32_t exclusive = 0;
  uint32_t shared = 0;
};

inline HeldCounts CountsOf(const segment::NameCell& name) {
  return {name.held_exclusive.Get(), name.held_shared.Get()};
}

// The count of the holders of this mode.
inline segment::Shared<uint32_t>& CountOf(segment::NameCell& name, LockMode mode) {
  return mode == LockMode::kExclusive ? name.held_exclusive : name.held_shared;
}

// For a request with ifAvailable, "first" means that the queue is empty.
// `limit`: of a shared request; 0: none.
constexpr bool IsGrantable(LockMode mode, bool is_first_in_queue, HeldCounts held,
                           uint32_t limit = 0) noexcept {
  if (!is_first_in_queue || held.exclusive > 0) return false;
  if (mode == LockMode::kExclusive) return held.shared == 0;
  return limit == 0 || held.shared < limit;
}

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_GRANTABLE_H_
