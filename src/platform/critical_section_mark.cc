#include "platform/critical_section_mark.h"

#include <mutex>
#include <new>
#include <utility>

#include "platform/fork_guard.h"

namespace holdfast {
inline namespace platform {

namespace {

class RegisteredMark;

// Has no constructor, unlike the mark itself: later calls read only this pointer.
constinit thread_local RegisteredMark* known_mark = nullptr;

struct Registry {
  std::mutex mutex;
  RegisteredMark* first = nullptr;
};

// Made when the addon is loaded, as the fork registry is. Never destroyed: threads may still run at
// exit.
Registry* const kRegistry = new Registry;

class RegisteredMark {
 public:
  RegisteredMark() {
    const std::lock_guard<std::mutex> guard(kRegistry->mutex);
    next_ = std::exchange(kRegistry->first, this);
  }
  ~RegisteredMark() {
    known_mark = nullptr;
    const std::lock_guard<std::mutex> guard(kRegistry->mutex);
    RegisteredMark** link = &kRegistry->first;
    while (*link != nullptr && *link != this) link = &(*link)->next_;
    if (*link == this) *link = next_;
  }
  RegisteredMark(const RegisteredMark&) = delete;
  RegisteredMark& operator=(const RegisteredMark&) = delete;

  CriticalSectionMark& mark() { return mark_; }
  RegisteredMark* next() const { return next_; }
  // In a forked child, by its one thread: the others are not there, inside or not.
  void BecomeTheOnlyOne() {
    kRegistry->first = this;
    next_ = nullptr;
  }

 private:
  CriticalSectionMark mark_;
  RegisteredMark* next_ = nullptr;
};

ForkedChildReset reset_registry([] {
  new (kRegistry) Registry;
  if (known_mark != nullptr) known_mark->BecomeTheOnlyOne();
});

// Runs once per thread, so it is kept out of the fast path.
[[gnu::noinline]] CriticalSectionMark& MakeMark() {
  thread_local RegisteredMark registered;
  known_mark = &registered;
  return registered.mark();
}

}  // namespace

CriticalSectionMark& MarkOfThisThread() {
  return known_mark != nullptr ? known_mark->mark() : MakeMark();
}

CriticalSectionScan::CriticalSectionScan() { kRegistry->mutex.lock(); }

CriticalSectionScan::~CriticalSectionScan() { kRegistry->mutex.unlock(); }

std::vector<uint64_t> CriticalSectionScan::ReadAll() {
  std::vector<uint64_t> words;
  for (RegisteredMark* each = kRegistry->first; each != nullptr; each = each->next()) {
    words.push_back(each->mark().word());
  }
  return words;
}

}  // namespace platform
}  // namespace holdfast
