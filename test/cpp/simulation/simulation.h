// One simulated machine from a seed: processes come, use locks, are killed, stopped and resumed
// wherever they are; then it becomes quiet, and everything that was promised is checked.
#ifndef HOLDFAST_TEST_SIMULATION_SIMULATION_H_
#define HOLDFAST_TEST_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/lock_log.h"
#include "simulation/program.h"
#include "simulation/world.h"

namespace holdfast::test {

class Simulation {
 public:
  explicit Simulation(uint64_t seed);

  // The first fault, or nothing.
  std::string Run();
  uint64_t grants() const { return log_.grants(); }
  uint32_t kills() const { return kills_; }
  // Lock words that were made to name a process that was not inside.
  uint32_t corruptions() const { return corruptions_; }
  // Locks that were granted by taking a biased lock.
  uint64_t takes() const;
  // Events that were written for those who watch.
  uint64_t events() const { return watch_ring_.last(); }

 private:
  void StartProgram(SimProcess& process);
  void StartProcess();
  void Interfere();
  void Kill(SimProcess& victim);
  void KillOne();
  void LetOneLeave();
  void KillWhoHasJustLeft();
  void LeaveFewAlive();
  void Corrupt();
  bool Step();
  std::vector<SimProcess*> Living();
  bool IsStoppable(const SimProcess& process) const;

  void BeActive();
  void BecomeQuiet();
  void CheckTheWatchers();
  void LetANewcomerIn();
  void Inspect();
  void RunUntilNothingHappens(uint64_t max_ns, const std::string& what);
  void CheckNoRequestWaits();
  std::string DescribeTable();
  void CheckNothingIsLeft();
  void CheckFiles(segment::Segment& segment);
  bool HasFailed();
  void Fail(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }
  segment::Segment Table() { return {world_.kernel().memory(), geometry_}; }

  World world_;
  LockLog log_;
  WatchRecord watch_ring_;
  segment::Geometry geometry_;
  Habits habits_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<SimProcess*> processes_;
  uint32_t actions_left_;
  uint32_t kills_ = 0;
  bool is_corrupting_ = false;
  uint32_t corruptions_ = 0;
  uint32_t steps_to_action_ = 1;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_SIMULATION_H_
