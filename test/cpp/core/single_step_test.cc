// A process dies behind every single machine instruction of every kind of operation that changes
// the segment, and so do those who clean up after it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/crash_cases.h"
#include "core/single_stepper.h"

namespace holdfast::test {
namespace {

using segment::ProcessRef;

// In every so manieth of the images the cleaner dies too, and in every so manieth of those the next
// cleaner. HOLDFAST_SINGLE_STEP_EVERY=<number> (`npm test -- soak`).
size_t Every() {
  constexpr size_t kEvery = 200;
  const char* const text = std::getenv("HOLDFAST_SINGLE_STEP_EVERY");
  return text == nullptr ? kEvery : std::stoul(text);
}

class SingleSteps : public testing::TestWithParam<CrashCase> {
 protected:
  static void TearDownTestSuite() {
    std::cout << images_ << " images, behind " << stores_ << " instructions that write"
              << std::endl;
  }
  void SetUp() override {
    if (!CanStep()) GTEST_SKIP() << "this processor has no flag for single steps";
  }

  // The known facts of one operation, beside the images.
  struct Operation {
    const CrashScene& known;
    const ReferenceModel& before;
    const ReferenceModel& after;
  };

  static std::vector<FakeMachine::Image> Step(CrashScene& scene,
                                              const std::function<void()>& body) {
    const size_t size = scene.machine.segment().geometry().capacity;
    Steps steps = StepThrough({scene.machine.bytes(), size}, body);
    EXPECT_TRUE(steps.is_complete);
    stores_ += steps.stores;
    return std::move(steps.images);
  }

  // Every process in `dead` is dead in this image; `rescuers` are the processes that can still
  // clean up, one after the other.
  static void Check(const Operation& operation, const FakeMachine::Image& image,
                    std::vector<ProcessRef> dead, std::vector<ProcessRef> rescuers,
                    const std::string& where) {
    const Frame frame{image, {}};  // no doorbell counts that the dead have rung
    const ProcessRef rescuer = rescuers.back();
    rescuers.pop_back();
    ++images_;
    CrashScene left(operation.known, frame);
    for (const std::string& fault :
         left.Rescue(dead, rescuer, operation.before, operation.after, frame)) {
      ADD_FAILURE() << where << ": " << fault;
    }
    if (rescuers.empty() || images_ % Every() != 0) return;
    CrashScene rescue(operation.known, frame);
    const auto images = Step(rescue, [&] { (void)rescue.CleanUp(dead, rescuer); });
    dead.push_back(rescuer);
    for (size_t i = 0; i < images.size() && !HasFailure(); ++i) {
      Check(operation, images[i], dead, rescuers,
            where + ", image " + std::to_string(i) + " of the rescue");
    }
  }

  static inline size_t images_ = 0;
  static inline uint64_t stores_ = 0;
};

TEST_P(SingleSteps, LeaveNothingThatTheSurvivorsCannotCleanUp) {
  for (uint32_t situation = 0; situation < kSituations; ++situation) {
    if (GetParam().is_of_biased && situation == kWatched) continue;
    CrashScene scene;
    Arrange(scene, GetParam(), situation);
    const ProcessRef newcomer = scene.machine.Attach(4);
    const CrashScene known(scene, {scene.machine.TakeImage(), {}});
    const ReferenceModel before = ReferenceModel::Read(scene.machine.segment());
    const auto images = Step(scene, [&] { GetParam().operate(scene); });
    ASSERT_GT(images.size(), 1U);
    CrashScene done(known, {images.back(), {}});
    const ReferenceModel after = ReferenceModel::Read(done.machine.segment());
    std::vector<ProcessRef> dead = {scene.doomed_process};
    if (GetParam().ghost_is_dead) dead.push_back(scene.ghost_process);
    for (size_t i = 0; i < images.size() && !HasFailure(); ++i) {
      Check({known, before, after}, images[i], dead,
            {newcomer, scene.second_process, scene.first_process},
            NameOfSituation(situation) + std::string(", image ") + std::to_string(i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOperation, SingleSteps, testing::ValuesIn(CrashCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace holdfast::test
