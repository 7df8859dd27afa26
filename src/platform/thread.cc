#include "platform/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace holdfast {
inline namespace platform {

namespace {

constexpr size_t kStackBytes = size_t{256} * 1024;

}  // namespace

Status BackgroundThread::Start(Main main, void* context) {
  main_ = main;
  context_ = context;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // The new thread inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, &attributes, &BackgroundThread::Run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return Status(StatusCode::kBusy, "no further thread can be started", error);
  is_running_ = true;
  return Status();
}

void BackgroundThread::Join() {
  if (!is_running_) return;
  pthread_join(thread_, nullptr);
  is_running_ = false;
}

void* BackgroundThread::Run(void* self) {
  auto* const thread = static_cast<BackgroundThread*>(self);
  thread->main_(thread->context_);
  return nullptr;
}

uint32_t CurrentCpu() { return static_cast<uint32_t>(sched_getcpu() + 1); }

}  // namespace platform
}  // namespace holdfast
