// A storm: processes of two threads each that use locks without a pause over the real platform,
// and a director that kills, stops and resumes them at random moments and reads what they log.
//
// Rounds end in a quiet, in which every request of the living has to end without a time limit: the
// sweep is off, so a program that missed a wake-up waits for ever.
#ifndef HOLDFAST_TEST_STORM_STORM_H_
#define HOLDFAST_TEST_STORM_STORM_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "platform/fd.h"
#include "storm/storm_checker.h"
#include "storm/storm_control.h"
#include "storm/storm_log.h"

namespace holdfast::test {

class Storm {
 public:
  Storm(std::string directory, uint64_t seed);
  ~Storm();  // kills who is left
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

  // Runs until there were so many of both, or a fault. Returns the first fault, or nothing.
  std::string Run(uint64_t kills, uint64_t grants);

  const StormChecker& checker() const { return checker_; }
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
  StormControl* const control_;
  StormLog* const log_;
  std::array<UniqueFd, kStormSeats> calls_in_;
  std::array<UniqueFd, kStormSeats> calls_out_;
  std::array<Row, kStormProcesses> rows_;
  StormChecker checker_;
  uint32_t last_number_ = 0;
  uint64_t kills_ = 0;
  uint64_t stops_ = 0;
  uint64_t longest_quiet_ms_ = 0;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STORM_STORM_H_
