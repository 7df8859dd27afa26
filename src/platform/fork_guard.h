// What a forked child must not keep: a descriptor that outlives its process in a child would keep
// the process's slot taken and its doorbell silent.
#ifndef HOLDFAST_PLATFORM_FORK_GUARD_H_
#define HOLDFAST_PLATFORM_FORK_GUARD_H_

#include <vector>

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// One user's entry in the process-wide list of things to do in a child, first thing after a fork.
// Any thread; the object stays where it is from Register to Unregister.
class ForkGuard {
 public:
  // Runs in the child, before fork() returns there: may only do what a signal handler may.
  using Callback = void (*)(void* context);

  ForkGuard() = default;
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard() { Unregister(); }

  // `in_child` marks the user's state as disabled. kBusy: is registered already.
  Status Register(Callback in_child, void* context);
  // Waits for a fork that is going on. No effect when not registered.
  void Unregister();

  // In the child these are closed, and their numbers stay taken by something harmless: destructors
  // that run there close nothing of anybody else's. A descriptor is removed before it is closed.
  void Add(int fd);
  void Remove(int fd);

 private:
  friend class ForkRegistry;

  Callback in_child_ = nullptr;
  void* context_ = nullptr;
  std::vector<int> descriptors_;
  ForkGuard* next_ = nullptr;
  ForkGuard* previous_ = nullptr;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FORK_GUARD_H_
