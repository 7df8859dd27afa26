#include "platform/section_mark.h"

#include <algorithm>
#include <mutex>

namespace holdfast {
inline namespace platform {
namespace {

// Never destroyed: threads may still run at exit.
struct Registry {
  std::mutex mutex;
  std::vector<const SectionMark*> marks;
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

  SectionMark& mark() { return mark_; }

 private:
  SectionMark mark_;
};

// Without a constructor, unlike the mark itself: it is all that is looked at from the second time.
constinit thread_local SectionMark* known_mark = nullptr;

RegisteredMark::~RegisteredMark() {
  known_mark = nullptr;
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> guard(registry.mutex);
  std::erase(registry.marks, &mark_);
}

// Once in a thread: nothing of it is to weigh on every other call.
[[gnu::noinline]] SectionMark& MakeMark() {
  thread_local RegisteredMark registered;
  known_mark = &registered.mark();
  return *known_mark;
}

}  // namespace

SectionMark& MarkOfThisThread() { return known_mark != nullptr ? *known_mark : MakeMark(); }

SectionCensus::SectionCensus() { TheRegistry().mutex.lock(); }

SectionCensus::~SectionCensus() { TheRegistry().mutex.unlock(); }

std::vector<uint64_t> SectionCensus::ReadAll() {
  std::vector<uint64_t> words;
  for (const SectionMark* const mark : TheRegistry().marks) words.push_back(mark->word());
  return words;
}

}  // namespace platform
}  // namespace holdfast
