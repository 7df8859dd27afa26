// A run of the stress test: processes of two threads each that use locks without a pause over the
// real platform, and a director that kills, stops and resumes them at random moments and reads what
// they log.
//
// Rounds end in a quiet, in which every request of the living has to end without a time limit: the
// sweep is off, so a program that missed a wake-up waits for ever.
#ifndef HOLDFAST_TEST_STRESS_STRESS_H_
#define HOLDFAST_TEST_STRESS_STRESS_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "platform/fd.h"
#include "stress/stress_checker.h"
#include "stress/stress_control.h"
#include "stress/stress_log.h"

namespace holdfast::test {

class StressRun {
 public:
  StressRun(std::string directory, uint64_t seed);
  ~StressRun();  // kills who is left
  StressRun(const StressRun&) = delete;
  StressRun& operator=(const StressRun&) = delete;

  // Runs until there were so many of both, or a fault. Returns the first fault, or nothing.
  std::string Run(uint64_t kills, uint64_t grants);

  const StressChecker& checker() const { return checker_; }
  uint64_t kills() const { return kills_; }
  uint64_t stops() const { return stops_; }
  uint32_t rounds() const { return control_->round.load() / 2; }
  uint64_t longest_quiet_ms() const { return longest_quiet_ms_; }

 private:
  struct Row {
    pid_t process = -1;
    uint32_t number = 0;
    bool is_stopped = false;
  };

  void Round();
  void Interfere();
  void Start(uint32_t row);
  void Kill(uint32_t row);
  void Leave(uint32_t row);
  void ToggleStop(uint32_t row);
  void Resume(uint32_t row);
  void Call(uint32_t row);
  void BeQuiet();
  bool IsIdle() const;
  void ReadLog();
  [[noreturn]] void BeProcess(uint32_t row, uint64_t seed);
  void Fail(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  const std::string directory_;
  std::mt19937_64 random_;
  StressControl* const control_;
  StressLog* const log_;
  std::array<UniqueFd, kStressSeats> calls_in_;
  std::array<UniqueFd, kStressSeats> calls_out_;
  std::array<Row, kStressProcesses> rows_;
  StressChecker checker_;
  uint32_t last_number_ = 0;
  uint64_t kills_ = 0;
  uint64_t stops_ = 0;
  uint64_t longest_quiet_ms_ = 0;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STRESS_STRESS_H_
