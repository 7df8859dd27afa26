// Threads of this library, and the CPU that a thread runs on.
#ifndef HOLDFAST_PLATFORM_THREAD_H_
#define HOLDFAST_PLATFORM_THREAD_H_

#include <pthread.h>

#include <cstdint>

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// A thread with a small stack and all signals blocked, so that it never runs the program's signal
// handlers.
class BackgroundThread {
 public:
  using Main = void (*)(void* context);

  BackgroundThread() = default;
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;
  ~BackgroundThread() { Join(); }

  // kBusy: the system allows no more threads.
  Status Start(Main main, void* context);
  // Waits for the end of `main`. Has no effect if it was not started.
  void Join();

 private:
  static void* Run(void* self);

  Main main_ = nullptr;
  void* context_ = nullptr;
  pthread_t thread_{};
  bool is_running_ = false;
};

// 1 + the number of the CPU that this thread runs on, or 0: not known. The thread may run on
// another one by the time this returns.
uint32_t CurrentCpu();

// Hints to the CPU that this thread polls a word that another thread will store.
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

#endif  // HOLDFAST_PLATFORM_THREAD_H_
