// Waits for the death of any of many peers, through the write ends of their lifelines.
//
// A notice is a reason to check with the kernel (slot_lock.h), not a proof.
#ifndef HOLDFAST_PLATFORM_DEATH_WATCH_H_
#define HOLDFAST_PLATFORM_DEATH_WATCH_H_

#include <cstdint>

#include "platform/fd.h"
#include "platform/known_fd.h"
#include "platform/result.h"

namespace holdfast {
inline namespace platform {

class DeathWatch {
 public:
  static constexpr uint64_t kReservedKey = UINT64_MAX;

  static Result<DeathWatch> Create();

  // Reports `key` once when the FIFO behind `fd` has no reader any more; at once if it has none
  // now. Any thread, also during a Wait. kBusy: `fd` is watched; kInvalidArgument: the key is
  // kReservedKey, or `fd` cannot be watched.
  Status Watch(int fd, uint64_t key) const;
  // To be called before `fd` is closed. A Wait() that is returning may still report its key.
  void Unwatch(int fd) const;
  // Makes one Wait() return: the current one, or else the next. Any thread, any number of times.
  void Wake() const;

  // Waits for deaths, at most `timeout_ms` (-1: for ever); writes their keys, at most `capacity`
  // (at least 1), and returns how many. 0: time-out, Wake(), or an interrupting signal. -1: the
  // program has closed a descriptor of it; Abandon() and make a new one.
  int Wait(int timeout_ms, uint64_t* keys, int capacity) const;

  // Forgets the descriptors without closing them: their numbers belong to other files now.
  void Abandon();

  int fd() const { return epoll_.get(); }

 private:
  DeathWatch(UniqueFd epoll, UniqueFd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  KnownFd epoll_;
  KnownFd wake_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_DEATH_WATCH_H_
