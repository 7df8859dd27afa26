#include "stress/stress.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "platform/clock.h"
#include "stress/stress_program.h"

namespace holdfast::test {
namespace {

constexpr uint32_t kActionsPerRound = 40;
constexpr uint32_t kLatestUs = 4000;      // between two actions
constexpr uint64_t kWatchdogMs = 60'000;  // for what should take some milliseconds

template <typename T>
T* ShareMemory() {
  void* const memory =
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<T*>(memory);
}

// Every further word of a seed, for a separate process.
uint64_t Mix(uint64_t seed, uint64_t number) { return std::mt19937_64(seed ^ number)(); }

}  // namespace

StressRun::StressRun(std::string directory, uint64_t seed)
    : directory_(std::move(directory)),
      random_(seed),
      control_(ShareMemory<StressControl>()),
      log_(ShareMemory<StressLog>()) {
  for (uint32_t seat = 0; seat < kStressSeats; ++seat) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) std::abort();
    calls_in_[seat].reset(ends[0]);
    calls_out_[seat].reset(ends[1]);
  }
}

StressRun::~StressRun() {
  for (uint32_t row = 0; row < kStressProcesses; ++row) {
    if (rows_[row].process != -1) Kill(row);
  }
  munmap(control_, sizeof(*control_));
  munmap(log_, sizeof(*log_));
}

std::string StressRun::Run(uint64_t kills, uint64_t grants) {
  for (uint32_t row = 0; row < kStressProcesses; ++row) Start(row);
  while (fault_.empty() && (kills_ < kills || checker_.grants() < grants)) Round();
  for (uint32_t row = 0; row < kStressProcesses && fault_.empty(); ++row) Leave(row);
  return fault_;
}

void StressRun::Round() {
  for (uint32_t i = 0; i < kActionsPerRound && log_->fault().empty(); ++i) Interfere();
  // After these kills no newcomer cleans up: the others have to notice.
  const uint32_t missing = Below(3);
  for (uint32_t i = 0; i < missing; ++i) {
    const uint32_t row = Below(kStressProcesses);
    if (rows_[row].process != -1) Kill(row);
  }
  BeQuiet();
  if (!fault_.empty()) return;
  ReadLog();
  control_->round.fetch_add(1);
  for (uint32_t row = 0; row < kStressProcesses; ++row) {
    if (rows_[row].process == -1) {
      Start(row);
    } else {
      Call(row);
    }
  }
}

void StressRun::Interfere() {
  usleep(Below(kLatestUs));  // the moment is what is drawn
  const uint32_t row = Below(kStressProcesses);
  const uint32_t dice = Below(100);
  if (rows_[row].process == -1) return Start(row);
  if (dice < 70) {
    Kill(row);
    if (Below(8) != 0) Start(row);
  } else if (dice < 76) {
    Resume(row);
    Leave(row);
    Start(row);
  } else {
    ToggleStop(row);
  }
}

void StressRun::Start(uint32_t row) {
  Row& starting = rows_[row];
  starting = {-1, ++last_number_, false};
  control_->leaving[row].store(0);
  const uint64_t seed = Mix(random_(), last_number_);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  starting.process = fork();
  if (starting.process == -1) return Fail("fork() fails");
  if (starting.process != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  BeProcess(row, seed);
}

void StressRun::BeProcess(uint32_t row, uint64_t seed) {
  const auto run = [&](uint32_t thread) {
    const uint32_t seat = row * kStressThreads + thread;
    StressProgram(*control_, *log_,
                  {directory_, rows_[row].number, row, seat, calls_in_[seat].get(), seed + thread})
        .Run();
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  _exit(0);
}

void StressRun::Kill(uint32_t row) {
  Row& victim = rows_[row];
  if (victim.process <= 0) std::abort();  // kill() would mean all processes
  StressEntry entry;
  entry.process = victim.number;
  log_->Write(StressEvent::kDying, entry);
  kill(victim.process, SIGKILL);
  waitpid(victim.process, nullptr, 0);
  victim.process = -1;
  ++kills_;
}

void StressRun::Leave(uint32_t row) {
  Row& leaving = rows_[row];
  if (leaving.process == -1) return;
  control_->leaving[row].store(1);
  Call(row);
  int status = 0;
  waitpid(leaving.process, &status, 0);
  if (status != 0) Fail("a process ended with status " + std::to_string(status));
  leaving.process = -1;
}

void StressRun::ToggleStop(uint32_t row) {
  if (rows_[row].is_stopped) return Resume(row);
  kill(rows_[row].process, SIGSTOP);
  rows_[row].is_stopped = true;
  ++stops_;
}

void StressRun::Resume(uint32_t row) {
  if (std::exchange(rows_[row].is_stopped, false)) kill(rows_[row].process, SIGCONT);
}

void StressRun::Call(uint32_t row) {
  for (uint32_t thread = 0; thread < kStressThreads; ++thread) {
    (void)!write(calls_out_[row * kStressThreads + thread].get(), "!", 1);
  }
}

void StressRun::BeQuiet() {
  control_->round.fetch_add(1);
  for (uint32_t row = 0; row < kStressProcesses; ++row) {
    if (rows_[row].process == -1) continue;
    Resume(row);
    Call(row);
  }
  const uint64_t start_ns = platform::MonotonicNs();
  uint64_t waited_ms = 0;
  while (!IsIdle() && log_->fault().empty() && waited_ms < kWatchdogMs) {
    usleep(100);
    waited_ms = (platform::MonotonicNs() - start_ns) / kNsPerMs;
  }
  longest_quiet_ms_ = std::max(longest_quiet_ms_, waited_ms);
  if (!log_->fault().empty()) return Fail(log_->fault());
  if (IsIdle()) return;
  std::string waiting = "requests wait for ever, in seats";
  for (uint32_t seat = 0; seat < kStressSeats; ++seat) {
    const bool is_there = rows_[seat / kStressThreads].process != -1;
    const bool is_idle = control_->seats[seat].idle_in.load() == control_->round.load();
    if (is_there && !is_idle) waiting += " " + std::to_string(seat);
  }
  Fail(waiting);
}

bool StressRun::IsIdle() const {
  for (uint32_t seat = 0; seat < kStressSeats; ++seat) {
    if (rows_[seat / kStressThreads].process == -1) continue;
    if (control_->seats[seat].idle_in.load() != control_->round.load()) return false;
  }
  return true;
}

void StressRun::ReadLog() {
  const uint64_t count = std::min(log_->count(), StressLog::kEntries);
  for (uint64_t i = 0; i < count; ++i) checker_.Read(log_->event(i), log_->entry(i));
  checker_.FinishRound();
  log_->Clear();
  if (!log_->fault().empty()) Fail(log_->fault());
  if (!checker_.violations().empty()) Fail(checker_.violations().front());
}

}  // namespace holdfast::test
