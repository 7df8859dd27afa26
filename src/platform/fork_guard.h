// Closes descriptors in a forked child. If a child kept one, its parent's slot would stay taken
// after the parent's death, and its lifeline would stay silent.
#ifndef HOLDFAST_PLATFORM_FORK_GUARD_H_
#define HOLDFAST_PLATFORM_FORK_GUARD_H_

#include <vector>

#include "platform/fd.h"
#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// An entry in the process-wide list of work in a child, right after a fork. Any thread; the object
// must not move between Register() and Unregister().
class ForkGuard {
 public:
  // Runs in the child, before fork() returns there: only async-signal-safe calls are allowed.
  using Callback = void (*)(void* context);

  ForkGuard() = default;
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard() { Unregister(); }

  // `in_child` marks the user's state as disabled. kBusy: it is already registered.
  Status Register(Callback in_child, void* context);
  // Waits for a fork in progress. Has no effect if it is not registered.
  void Unregister();

  // The child closes these and occupies their numbers with a harmless file, so that destructors in
  // the child do not close an unrelated file. It leaves a number alone that is another file's by
  // then. Remove a descriptor before it is closed.
  void Add(int fd);
  void Remove(int fd);

 private:
  friend class ForkRegistry;

  struct Descriptor {
    int fd = -1;
    FileId id;
  };

  Callback in_child_ = nullptr;
  void* context_ = nullptr;
  std::vector<Descriptor> descriptors_;
  ForkGuard* next_ = nullptr;
  ForkGuard* previous_ = nullptr;
};

// Runs in every forked child, in the children of that child, and so on. For state of the whole
// process that another thread may have locked or been changing at the fork: the child begins with
// new state. Made when the program or the addon is loaded, and never destroyed.
class ForkedChildReset {
 public:
  // `reset`: only async-signal-safe calls.
  explicit ForkedChildReset(void (*reset)());

 private:
  friend class ForkRegistry;

  void (*reset_)();
  ForkedChildReset* next_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FORK_GUARD_H_
