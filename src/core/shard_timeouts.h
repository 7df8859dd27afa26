// How long a thread waits for a shard that somebody else keeps locked.
#ifndef HOLDFAST_CORE_SHARD_TIMEOUTS_H_
#define HOLDFAST_CORE_SHARD_TIMEOUTS_H_

#include <cstdint>

namespace holdfast::core {

// A JavaScript thread that asks for a lock or gives one back only spins for a moment.
inline constexpr uint64_t kNoWait = 0;
// The background worker has other shards to care for.
inline constexpr uint64_t kWorkerTimeoutNs = 1'000'000;
// A step of a look for deadlocks, on a JavaScript thread. It is rare.
inline constexpr uint64_t kLookTimeoutNs = 1'000'000;

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SHARD_TIMEOUTS_H_
