// The CPU on which this thread runs.
#ifndef HOLDFAST_PLATFORM_CPU_H_
#define HOLDFAST_PLATFORM_CPU_H_

#include <cstdint>

namespace holdfast {
inline namespace platform {

// 1 + its number, or 0: not known. The thread may run on another one by the time this returns.
uint32_t CurrentCpu();

// Tells the CPU that this thread is polling a word that another one will store.
inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` does nothing on most of these CPUs; `isb` waits about as long as x86's `pause`.
  __asm__ volatile("isb");
#endif
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CPU_H_
