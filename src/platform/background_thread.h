// A thread of this library's own: small stack, all signals blocked, so that the program's handlers
// run where they would without it.
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

  // kBusy: the system has no more threads to give.
  Status Start(Main main, void* context);
  // Waits for the end of `main`. No effect when not started.
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
