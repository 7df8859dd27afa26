#include "platform/fork_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

// Guards the list; held across a fork, so that the child finds a consistent list.
constinit std::mutex registry_mutex;
constinit ForkGuard* first_guard = nullptr;
constinit ForkedChildReset* first_reset = nullptr;

}  // namespace

// The guards of this process. A child starts without any.
class ForkRegistry {
 public:
  // Registers the handlers; returns the error number.
  static int Install() noexcept { return pthread_atfork(Prepare, InParent, InChild); }

  static void Link(ForkGuard& guard, ForkGuard::Callback in_child, void* context) {
    guard.in_child_ = in_child;
    guard.context_ = context;
    guard.previous_ = nullptr;
    guard.next_ = first_guard;
    if (first_guard != nullptr) first_guard->previous_ = &guard;
    first_guard = &guard;
  }

  static void Unlink(ForkGuard& guard) {
    (guard.previous_ != nullptr ? guard.previous_->next_ : first_guard) = guard.next_;
    if (guard.next_ != nullptr) guard.next_->previous_ = guard.previous_;
    guard.in_child_ = nullptr;
  }

 private:
  static void Prepare() { registry_mutex.lock(); }
  static void InParent() { registry_mutex.unlock(); }

  // Only async-signal-safe calls.
  static void InChild() {
    const int saved = errno;
    const int harmless = eventfd(0, EFD_CLOEXEC);
    while (first_guard != nullptr) {
      ForkGuard& guard = *first_guard;
      for (const auto& [fd, id] : guard.descriptors_) {
        if (IsAnother(FileIdOf(fd), id)) continue;
        if (harmless == -1 || dup3(harmless, fd, O_CLOEXEC) == -1) close(fd);
      }
      guard.in_child_(guard.context_);
      Unlink(guard);
    }
    if (harmless != -1) close(harmless);
    for (const ForkedChildReset* each = first_reset; each != nullptr; each = each->next_) {
      each->reset_();
    }
    registry_mutex.unlock();
    errno = saved;
  }
};

namespace {

// At load time, not at the first use. A child forked during a lazy initialisation would wait for
// ever for a thread that it does not have.
const int kInstallError = ForkRegistry::Install();

}  // namespace

ForkedChildReset::ForkedChildReset(void (*reset)()) : reset_(reset) {
  const std::lock_guard lock(registry_mutex);
  next_ = std::exchange(first_reset, this);
}

Status ForkGuard::Register(Callback in_child, void* context) {
  if (kInstallError != 0) {
    return OsError("cannot register what to do in a forked child", kInstallError);
  }
  const std::lock_guard lock(registry_mutex);
  if (in_child_ != nullptr) return {StatusCode::kBusy, "the guard is registered already"};
  ForkRegistry::Link(*this, in_child, context);
  return {};
}

void ForkGuard::Unregister() {
  const std::lock_guard lock(registry_mutex);
  if (in_child_ != nullptr) ForkRegistry::Unlink(*this);
}

void ForkGuard::Add(int fd) {
  const std::lock_guard lock(registry_mutex);
  descriptors_.push_back({fd, FileIdOf(fd)});
}

void ForkGuard::Remove(int fd) {
  const std::lock_guard lock(registry_mutex);
  const auto found = std::find_if(descriptors_.begin(), descriptors_.end(),
                                  [&](const Descriptor& added) { return added.fd == fd; });
  if (found != descriptors_.end()) descriptors_.erase(found);
}

}  // namespace platform
}  // namespace holdfast
