#include "platform/futex.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <new>

#include "platform/child_process.h"
#include "platform/clock.h"

namespace holdfast {
namespace {

constexpr uint64_t kAnHour = uint64_t{3600} * 1'000'000'000;

class SharedWord {
 public:
  SharedWord()
      : page_(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        word_(new (page_) std::atomic<uint32_t>(0)) {}
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;
  ~SharedWord() { munmap(page_, 4096); }
  std::atomic<uint32_t>* get() const { return word_; }

 private:
  void* page_;
  std::atomic<uint32_t>* word_;
};

TEST(FutexWait, ReturnsAtOnceWhenTheWordHasAnotherValue) {
  std::atomic<uint32_t> word = 1;
  FutexWait(&word, 0, kAnHour);
}

TEST(FutexWait, ReturnsWhenItsTimeIsOver) {
  std::atomic<uint32_t> word = 0;
  const uint64_t start = MonotonicNs();
  FutexWait(&word, 0, 10'000'000);
  EXPECT_GE(MonotonicNs() - start, 10'000'000U);
}

TEST(FutexWake, WakesASleeperInAnotherProcess) {
  const SharedWord word;
  ChildProcess sleeper([&](ChildProcess&) {
    FutexWait(word.get(), 0, kAnHour);
    return 0;
  });
  // The word stays as it is: only a wake that crosses processes ends the sleep.
  while (!sleeper.HasEnded()) {
    FutexWake(word.get(), 1);
    sched_yield();
  }
  EXPECT_EQ(sleeper.Wait(), 0);
}

TEST(FutexWait, IsInterruptedByASignal) {
  const SharedWord word;
  ChildProcess sleeper([&](ChildProcess& self) {
    std::signal(SIGUSR1, [](int) {});
    self.SayReady();
    FutexWait(word.get(), 0, kAnHour);
    return 0;
  });
  ASSERT_TRUE(sleeper.WaitUntilReady());
  while (!sleeper.HasEnded()) {
    sleeper.Kill(SIGUSR1);
    sched_yield();
  }
  EXPECT_EQ(sleeper.Wait(), 0);
}

}  // namespace
}  // namespace holdfast
