// Sleeps on a word of shared memory; works between processes that map the same file.
#ifndef HOLDFAST_PLATFORM_FUTEX_H_
#define HOLDFAST_PLATFORM_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace holdfast {
inline namespace platform {

// Sleeps while `word` is `expected`, at most `timeout_ns`. Does not report why it returned (woken,
// changed, timed out or interrupted): the caller reads the word.
void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns);
// Wakes at most `count` sleepers of `word`.
void FutexWake(std::atomic<uint32_t>* word, int count);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FUTEX_H_
