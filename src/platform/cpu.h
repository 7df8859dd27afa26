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
  __asm__ volatile("yield");
#endif
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CPU_H_
