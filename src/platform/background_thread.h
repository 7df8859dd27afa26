// A thread of this library: small stack, all signals blocked, so that it never runs the program's
// signal handlers.
#ifndef HOLDFAST_PLATFORM_BACKGROUND_THREAD_H_
#define HOLDFAST_PLATFORM_BACKGROUND_THREAD_H_

#include <pthread.h>

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

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

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_BACKGROUND_THREAD_H_
