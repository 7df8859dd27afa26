// Waits for the death of any of many peers, through this side's ends of their doorbells.
//
// A notice is a reason to ask (slot_lock.h), not the truth.
#ifndef HOLDFAST_PLATFORM_DEATH_WATCH_H_
#define HOLDFAST_PLATFORM_DEATH_WATCH_H_

#include <cstdint>

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

class DeathWatch {
 public:
  static constexpr uint64_t kReservedKey = UINT64_MAX;

  static Result<DeathWatch> Create();

  // Reports `key` once when nobody reads from the FIFO behind `fd` any more, at once when nobody
  // does already. Any thread, also during a Wait. kBusy: `fd` is watched; kInvalidArgument: the
  // key is kReservedKey, or `fd` cannot be watched.
  Status Watch(int fd, uint64_t key) const;
  // Before `fd` is closed. A Wait that is returning may still report its key.
  void Unwatch(int fd) const;
  // Makes one Wait return: the one that is waiting, or else the next. Any thread, any number of
  // times.
  void Wake() const;

  // Waits for deaths, at most `timeout_ms` (-1: for ever); writes their keys, at most `capacity`
  // (at least 1), and returns how many. 0: time-out, Wake(), or an interrupting signal. -1: the
  // program has closed the descriptor; Abandon() and make a new one.
  int Wait(int timeout_ms, uint64_t* keys, int capacity) const;

  // Leaves the descriptors to whoever has opened their numbers.
  void Abandon();

  int fd() const { return epoll_.get(); }

 private:
  DeathWatch(UniqueFd epoll, UniqueFd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  UniqueFd epoll_;
  UniqueFd wake_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_DEATH_WATCH_H_
