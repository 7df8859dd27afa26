// A process dies behind every single store of every kind of operation; the others clean up.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "core/crash_cases.h"

namespace holdfast::test {
namespace {

class CrashImages : public testing::TestWithParam<CrashCase> {
 protected:
  static void TearDownTestSuite() { std::cout << images_ << " crash images" << std::endl; }

  static void Expect(const std::vector<std::string>& faults, const std::string& where) {
    ++images_;
    for (const std::string& fault : faults) ADD_FAILURE() << where << ": " << fault;
  }
  // The rescuer dies too, behind every `kStep`-th of its stores from `start` on; another one
  // continues.
  static void CrashInTheRescue(const CrashScene& scene, const Frame& frame,
                               const ReferenceModel& before, const ReferenceModel& after,
                               std::vector<segment::ProcessRef> dead, size_t start,
                               const std::string& where) {
    constexpr size_t kStep = 19;
    CrashScene rescue(scene, frame);
    const size_t first = start % kStep;
    const std::vector<Frame> frames = FramesOf(
        rescue.machine, [&] { (void)rescue.CleanUp(dead, rescue.first_process); }, first, kStep);
    dead.push_back(scene.first_process);
    for (size_t i = 0; i < frames.size(); ++i) {
      Frame both = frames[i];
      both.rings.insert(both.rings.end(), frame.rings.begin(), frame.rings.end());
      CrashScene left(scene, both);
      Expect(left.Rescue(dead, left.second_process, before, after, both),
             where + ", store " + std::to_string(first + i * kStep) + " of the rescue");
    }
  }

  static inline size_t images_ = 0;
};

TEST_P(CrashImages, LeaveNothingThatTheSurvivorsCannotCleanUp) {
  for (uint32_t situation = 0; situation < kSituations; ++situation) {
    CrashScene scene;
    Arrange(scene, GetParam(), situation);
    const CrashScene known(scene, {scene.machine.TakeImage(), {}});
    const ReferenceModel before = ReferenceModel::Read(scene.machine.segment());
    const std::vector<Frame> frames = FramesOf(scene.machine, [&] { GetParam().operate(scene); });
    const ReferenceModel after = ReferenceModel::Read(scene.machine.segment());
    std::vector<segment::ProcessRef> dead = {scene.doomed_process};
    if (GetParam().ghost_is_dead) dead.push_back(scene.ghost_process);
    for (size_t i = 0; i < frames.size() && !HasFailure(); ++i) {
      const std::string where =
          NameOfSituation(situation) + std::string(", store ") + std::to_string(i);
      CrashScene left(known, frames[i]);
      std::vector<std::string> faults =
          left.Rescue(dead, left.first_process, before, after, frames[i]);
      // A repair that dies makes the next one report the same deaths again.
      if (situation == kWatched && !GetParam().ghost_is_dead) left.CheckWatchRing(faults);
      Expect(faults, where);
      if (i % 7 == 0) CrashInTheRescue(known, frames[i], before, after, dead, i, where);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOperation, CrashImages, testing::ValuesIn(CrashCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace holdfast::test
