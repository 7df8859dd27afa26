// Two processes hand over to each other through a word in shared memory, and do nothing else. This
// is the floor of what a blocking hand-over can cost. Prints hand-overs per second: sleeping on the
// word, and spinning on it.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using Word = std::atomic<uint32_t>;
constexpr uint32_t kWarmUp = 1'000;

void AwaitAsleep(Word& word, uint32_t turn) {
  for (uint32_t seen = word.load(); seen != turn; seen = word.load()) {
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
}

void AwaitAwake(Word& word, uint32_t turn) {
  while (word.load(std::memory_order_acquire) != turn) {
  }
}

void Give(Word& word, uint32_t turn, bool sleeps) {
  word.store(turn);
  if (sleeps) syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// Takes every other turn, from `first` on.
void Play(Word& word, uint32_t first, uint32_t turns, bool sleeps) {
  for (uint32_t turn = first; turn < turns; turn += 2) {
    sleeps ? AwaitAsleep(word, turn) : AwaitAwake(word, turn);
    Give(word, turn + 1, sleeps);
  }
}

double HandOversPerSecond(Word& word, uint32_t turns, bool sleeps) {
  word.store(0);
  const pid_t child = fork();
  if (child == 0) {
    Play(word, 1, kWarmUp + turns, sleeps);
    _exit(0);
  }
  Play(word, 0, kWarmUp, sleeps);
  const auto begin = std::chrono::steady_clock::now();
  Play(word, kWarmUp, kWarmUp + turns, sleeps);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  waitpid(child, nullptr, 0);
  return turns / time.count();
}

}  // namespace

int main() {
  void* const page =
      mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return EXIT_FAILURE;
  Word& word = *new (page) Word(0);
  const double asleep = HandOversPerSecond(word, 40'000, true);
  const double awake =
      sysconf(_SC_NPROCESSORS_ONLN) > 1 ? HandOversPerSecond(word, 400'000, false) : 0;
  std::printf("{\"asleep\": %.0f, \"awake\": %.0f}\n", asleep, awake);
}
