// Some processes and agents on one machine, of which one is to die in the middle of an operation,
// and the survivors' view of what it leaves behind.
#ifndef HOLDFAST_TEST_SUPPORT_CRASH_SCENE_H_
#define HOLDFAST_TEST_SUPPORT_CRASH_SCENE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "support/fake_agent.h"
#include "support/fake_machine.h"
#include "support/reference_model.h"
#include "support/store_recorder.h"

namespace holdfast::test {

class CrashScene {
 public:
  CrashScene();
  // The scene as `frame` shows it; `other` has the agents' view.
  CrashScene(const CrashScene& other, const Frame& frame);

  FakeMachine machine;
  segment::ProcessRef doomed_process;
  segment::ProcessRef first_process;
  segment::ProcessRef second_process;
  segment::ProcessRef ghost_process;  // dies before the operation, where that is the situation
  FakeAgent doomed;
  FakeAgent doomed_too;  // another agent of the same process
  FakeAgent first;
  FakeAgent second;
  FakeAgent second_too;
  FakeAgent ghost;

  // A new request with the next number.
  uint32_t Request(FakeAgent& agent, std::u16string_view name, const Options& options = kExclusive);
  // All living agents fall asleep, so that an agent that gets events must be rung.
  void FallAsleep();

  // The processes in `dead` are gone; `rescuer` cleans up after them. Everything that is wrong
  // then. `before` and `after`: what the records said before and after the operation.
  std::vector<std::string> Rescue(const std::vector<segment::ProcessRef>& dead,
                                  segment::ProcessRef rescuer, const ReferenceModel& before,
                                  const ReferenceModel& after, const Frame& frame);
  // The first half of it: kills, and cleans up.
  std::vector<std::string> CleanUp(const std::vector<segment::ProcessRef>& dead,
                                   segment::ProcessRef rescuer);
  // If everything was watched from the beginning, and one process at most has died: the watch ring
  // has every grant and every end, or has a gap.
  void CheckWatchRing(std::vector<std::string>& faults);

 private:
  using Faults = std::vector<std::string>;

  std::vector<FakeAgent*> Agents() {
    return {&doomed, &doomed_too, &first, &second, &second_too, &ghost};
  }
  ReferenceModel Without(ReferenceModel model, const std::vector<segment::ProcessRef>& dead);
  bool IsAmong(const std::vector<segment::ProcessRef>& processes, const FakeAgent& agent) const;
  void CheckTokens(uint64_t newest_before, const ReferenceModel& before, Faults& faults);
  void CheckAgent(FakeAgent& agent, const std::vector<segment::AgentRef>& rung, Faults& faults);
  void CheckSecondRepair(segment::ProcessRef rescuer, Faults& faults);
  bool HasWatchers();
  void CheckNothingIsLeft(const std::vector<segment::ProcessRef>& dead, Faults& faults);
  void CheckInvariants(const char* when, Faults& faults);

  uint32_t last_id_ = 0;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_CRASH_SCENE_H_
