#include "platform/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace holdfast {
inline namespace platform {

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

}  // namespace

// Without FUTEX_PRIVATE_FLAG: the sleepers may be in other processes. A relative time-out counts on
// CLOCK_MONOTONIC.
void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  const timespec timeout{.tv_sec = static_cast<time_t>(timeout_ns / kNsPerSecond),
                         .tv_nsec = static_cast<long>(timeout_ns % kNsPerSecond)};
  syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace platform
}  // namespace holdfast
