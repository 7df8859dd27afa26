// A scope in which a signal raised by a system call of this thread cannot kill the process.
#ifndef HOLDFAST_PLATFORM_SUPPRESSED_SIGNAL_H_
#define HOLDFAST_PLATFORM_SUPPRESSED_SIGNAL_H_

#include <csignal>

namespace holdfast {
inline namespace platform {

// Blocks one signal for this thread (SIGPIPE of a write, SIGXFSZ of a file that grows). A signal
// that was blocked or pending before stays so.
class SuppressedSignal {
 public:
  explicit SuppressedSignal(int signal);
  SuppressedSignal(const SuppressedSignal&) = delete;
  SuppressedSignal& operator=(const SuppressedSignal&) = delete;
  ~SuppressedSignal();

  // To be called if the call failed in the way that raises the signal: consumes it.
  void Consume() const;

 private:
  sigset_t signal_;
  sigset_t mask_before_;
  bool was_pending_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_SUPPRESSED_SIGNAL_H_
