// How long a thread waits for a shard that another thread keeps locked.
#ifndef HOLDFAST_CORE_SHARD_TIMEOUTS_H_
#define HOLDFAST_CORE_SHARD_TIMEOUTS_H_

#include <cstdint>

namespace holdfast::core {

// A JavaScript thread only spins for a few microseconds, and repairs nothing.
inline constexpr uint64_t kNoWait = 0;
// Whether a name is locked has no later answer. The thread inside the shard may only be without a
// processor: so a JavaScript thread reads again, after pauses of ten milliseconds together.
inline constexpr int kReadPauses = 100;
inline constexpr uint64_t kReadPauseNs = 100'000;
// The same as kNoWait, and repairs.
inline constexpr uint64_t kBriefNs = 1;
// The background worker has work for other shards, too.
inline constexpr uint64_t kWorkerTimeoutNs = 1'000'000;

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SHARD_TIMEOUTS_H_
