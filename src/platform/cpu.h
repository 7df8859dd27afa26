// The processor that this thread runs on.
#ifndef HOLDFAST_PLATFORM_CPU_H_
#define HOLDFAST_PLATFORM_CPU_H_

#include <cstdint>

namespace holdfast {
inline namespace platform {

// 1 + its number, or 0: not known. May be another one already when this returns.
uint32_t CurrentCpu();

// Tells the processor that this thread looks again and again at what another one is to store.
inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` does nothing on most of these processors; `isb` waits about as long as x86's `pause`.
  __asm__ volatile("isb");
#endif
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CPU_H_
