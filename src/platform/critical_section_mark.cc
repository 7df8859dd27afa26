#include "platform/critical_section_mark.h"

#include <algorithm>
#include <mutex>

namespace holdfast {
inline namespace platform {

namespace {

// Never destroyed: threads may still run at exit.
struct Registry {
  std::mutex mutex;
  std::vector<const CriticalSectionMark*> marks;
};

Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

class RegisteredMark {
 public:
  RegisteredMark() {
    Registry& registry = TheRegistry();
    const std::lock_guard<std::mutex> guard(registry.mutex);
    registry.marks.push_back(&mark_);
  }
  ~RegisteredMark();
  RegisteredMark(const RegisteredMark&) = delete;
  RegisteredMark& operator=(const RegisteredMark&) = delete;

  CriticalSectionMark& mark() { return mark_; }

 private:
  CriticalSectionMark mark_;
};

// Has no constructor, unlike the mark itself: later calls read only this pointer.
constinit thread_local CriticalSectionMark* known_mark = nullptr;

RegisteredMark::~RegisteredMark() {
  known_mark = nullptr;
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> guard(registry.mutex);
  std::erase(registry.marks, &mark_);
}

// Runs once per thread, so it is kept out of the fast path.
[[gnu::noinline]] CriticalSectionMark& MakeMark() {
  thread_local RegisteredMark registered;
  known_mark = &registered.mark();
  return *known_mark;
}

}  // namespace

CriticalSectionMark& MarkOfThisThread() { return known_mark != nullptr ? *known_mark : MakeMark(); }

CriticalSectionScan::CriticalSectionScan() { TheRegistry().mutex.lock(); }

CriticalSectionScan::~CriticalSectionScan() { TheRegistry().mutex.unlock(); }

std::vector<uint64_t> CriticalSectionScan::ReadAll() {
  std::vector<uint64_t> words;
  for (const CriticalSectionMark* const mark : TheRegistry().marks) words.push_back(mark->word());
  return words;
}

}  // namespace platform
}  // namespace holdfast
