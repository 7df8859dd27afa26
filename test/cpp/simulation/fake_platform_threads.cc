// The platform contracts over the simulated machine: threads, time, sleep. With them the mutexes of
// the system, because the threads that the core locks out of each other are fibers here.
//
// The linker takes these in place of the real implementations: all of the core runs as it is.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "platform/clock.h"
#include "platform/critical_section_mark.h"
#include "platform/futex.h"
#include "platform/process_identity.h"
#include "platform/thread.h"
#include "simulation/world.h"

namespace holdfast {
inline namespace platform {
namespace {

using test::TheWorld;

}  // namespace

Status BackgroundThread::Start(Main main, void* context) {
  thread_ = TheWorld().StartThread(TheWorld().process(), [main, context] { main(context); });
  is_running_ = true;
  return Status();
}

void BackgroundThread::Join() {
  if (!is_running_) return;
  TheWorld().Join(thread_);
  is_running_ = false;
}

uint64_t MonotonicNs() {
  // The dead never wait: for them every wait is over.
  static uint64_t ghost_ns = 0;
  constexpr uint64_t kGhostStepNs = 10'000'000;
  return TheWorld().now_ns() + (TheWorld().IsGhost() ? ghost_ns += kGhostStepNs : 0);
}

uint64_t RealtimeNs() { return TheWorld().now_ns(); }
// Never the same twice, so that no two events of the watch ring look alike.
uint64_t CoarseRealtimeMs() { return TheWorld().NextTick(); }
uint32_t MonotonicClockId() { return 1; }
uint64_t RandomWord() { return 1; }
Result<BootId> ReadBootId() { return BootId{}; }
// Each process has its own, so that waiting without sleep is tried.
uint32_t CurrentCpu() { return TheWorld().process().id; }
uint32_t ProcessId() { return TheWorld().process().id; }
uint32_t ThreadId() { return TheWorld().process().id; }
uint64_t PidNamespace() { return 1; }
uint32_t EffectiveUserId() { return 0; }

CriticalSectionMark& MarkOfThisThread() { return TheWorld().mark(); }

CriticalSectionScan::CriticalSectionScan() { TheWorld().process().scan.lock(); }
CriticalSectionScan::~CriticalSectionScan() { TheWorld().process().scan.unlock(); }

// A separate point: the scan reads the state of other threads.
std::vector<uint64_t> CriticalSectionScan::ReadAll() {
  std::vector<uint64_t> words = TheWorld().Marks();
  TheWorld().Point();
  return words;
}

void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  if (TheWorld().IsGhost() || word->load() != expected) return;
  TheWorld().Sleep(TheWorld().kernel().Physical(word), TheWorld().now_ns() + timeout_ns);
}

void FutexWake(std::atomic<uint32_t>* word, int) {
  if (!TheWorld().IsGhost()) TheWorld().Wake(TheWorld().kernel().Physical(word));
}

}  // namespace platform
}  // namespace holdfast

namespace {

// Of a simulated thread; false: whatever runs is none.
bool IsSimulated() {
  const holdfast::test::World* const world = holdfast::test::World::Current();
  return world != nullptr && world->IsInside();
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  while (pthread_mutex_trylock(mutex) == EBUSY) {
    if (IsSimulated()) {
      holdfast::test::World::Current()->Sleep(mutex, holdfast::test::World::kForever);
    } else {
      sched_yield();
    }
  }
  return 0;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static const auto real = Real<int(pthread_mutex_t*)>("pthread_mutex_unlock");
  const int result = real(mutex);
  if (IsSimulated()) holdfast::test::World::Current()->Wake(mutex);
  return result;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static const auto real = Real<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait");
  if (!IsSimulated()) return real(condition, mutex);
  pthread_mutex_unlock(mutex);
  holdfast::test::World::Current()->Sleep(condition, holdfast::test::World::kForever);
  return pthread_mutex_lock(mutex);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  static const auto real = Real<int(pthread_cond_t*)>("pthread_cond_broadcast");
  if (!IsSimulated()) return real(condition);
  holdfast::test::World::Current()->Wake(condition);
  return 0;
}

}  // extern "C"
