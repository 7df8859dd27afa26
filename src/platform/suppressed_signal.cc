#include "platform/suppressed_signal.h"

#include <pthread.h>

#include <ctime>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

sigset_t SetOf(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

// The mask as it was before.
sigset_t Block(const sigset_t& signals) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  return before;
}

bool IsPending(int signal) {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

}  // namespace

// A signal that was not blocked would have been delivered: it cannot have been pending.
SuppressedSignal::SuppressedSignal(int signal)
    : signal_(SetOf(signal)),
      mask_before_(Block(signal_)),
      was_pending_(sigismember(&mask_before_, signal) == 1 && IsPending(signal)) {}

SuppressedSignal::~SuppressedSignal() { pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

void SuppressedSignal::Consume() const {
  if (was_pending_) return;
  const timespec at_once{};
  RetryOnEintr([&] { return sigtimedwait(&signal_, nullptr, &at_once); });
}

}  // namespace platform
}  // namespace holdfast
