// What two processors and the system take for the steps of a hand-over, in ns: the costs of the
// simulation in bench/processors. Prints JSON.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 15;

struct alignas(256) Word {
  std::atomic<uint32_t> value{0};
};

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double NsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The least of some rounds: what else runs here only adds.
template <typename Round>
double Least(const Round& round) {
  double least = round();
  for (int i = 1; i < kRounds; ++i) least = std::min(least, round());
  return least;
}

template <typename Round>
double Median(const Round& round) {
  std::array<double, kRounds> found{};
  std::generate(found.begin(), found.end(), round);
  std::sort(found.begin(), found.end());
  return found[kRounds / 2];
}

// Two threads on these CPUs, which begin together; ns of the slower one for each step.
template <typename Step>
double Both(std::array<int, 2> cpus, uint32_t steps, const Step& step) {
  std::atomic<int> ready{0};
  std::array<double, 2> ns{};
  const auto play = [&](size_t self) {
    Pin(cpus[self]);
    ready.fetch_add(1);
    while (ready.load() < 2) sched_yield();
    const auto start = Clock::now();
    for (uint32_t i = 0; i < steps; ++i) step(self, i);
    ns[self] = NsSince(start) / steps;
  };
  std::thread other(play, 1);
  std::thread self(play, 0);
  self.join();
  other.join();
  return std::max(ns[0], ns[1]);
}

// One way of a line that two CPUs write in turn.
double Transfer() {
  return Least([] {
    Word word;
    return Both({0, 1}, 20'000,
                [&](uint32_t self, uint32_t i) {
                  while (word.value.load(std::memory_order_acquire) != 2 * i + self) {
                  }
                  word.value.store(2 * i + self + 1, std::memory_order_release);
                }) /
           2;
  });
}

double Adds(bool is_shared_word, bool is_shared_line) {
  return Least([=] {
    struct alignas(128) Line {
      std::array<std::atomic<uint64_t>, 32> words{};
    };
    Line line;
    const size_t other = is_shared_word ? 0 : is_shared_line ? 1 : 16;
    return Both({0, 1}, 200'000,
                [&](size_t self, uint32_t) { line.words[self == 0 ? 0 : other].fetch_add(1); });
  });
}

// From the store of a word to the other thread, which slept on it: half of a ping-pong. The median:
// in the least of some rounds the other one was still awake.
double WakeUp(std::array<int, 2> cpus) {
  return Median([=] {
    Word word;
    const auto futex = [&](int operation, uint32_t value) {
      syscall(SYS_futex, &word.value, operation, value, nullptr, nullptr, 0);
    };
    return Both(cpus, 500,
                [&](uint32_t self, uint32_t i) {
                  for (uint32_t seen = word.value.load(); seen != 2 * i + self;
                       seen = word.value.load()) {
                    futex(FUTEX_WAIT_PRIVATE, seen);
                  }
                  word.value.store(2 * i + self + 1);
                  futex(FUTEX_WAKE_PRIVATE, 1);
                }) /
           2;
  });
}

// An addition to a word that nobody else has.
double Alone() {
  return Least([] {
    Word word;
    constexpr uint32_t kSteps = 1'000'000;
    const auto start = Clock::now();
    for (uint32_t i = 0; i < kSteps; ++i) word.value.fetch_add(1);
    return NsSince(start) / kSteps;
  });
}

}  // namespace

int main() {
  std::printf(
      "{\"transferNs\": %.1f, \"addAloneNs\": %.1f, \"addSharedWordNs\": %.1f, "
      "\"addSharedLineNs\": %.1f, \"addOwnLineNs\": %.1f, \"wakeOtherCpuNs\": %.0f, "
      "\"wakeSameCpuNs\": %.0f}\n",
      Transfer(), Alone(), Adds(true, true), Adds(false, true), Adds(false, false), WakeUp({0, 1}),
      WakeUp({0, 0}));
}
