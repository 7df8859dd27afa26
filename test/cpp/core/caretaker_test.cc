#include "core/caretaker.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using segment::ProcessRef;

// None of the made-up processes has a lifeline: whoever is watched is asked for at once, and again
// and again. Without the sweep.
class CaretakerTest : public LockTableTest {
 protected:
  void TearDown() override {
    caretaker.Stop();
    LockTableTest::TearDown();
    std::filesystem::remove_all(path);
  }

  bool IsCleanedUp(ProcessRef process) const {
    const auto& entry = machine.segment().process(process.slot);
    return entry.cleaned_generation.Acquire() == process.generation;
  }
  // CTest ends a test that waits for ever.
  template <typename Condition>
  static void Until(const Condition& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  static std::string MakeDirectory() {
    std::string path = "/dev/shm/holdfast-caretaker-XXXXXX";
    return mkdtemp(path.data()) == nullptr ? std::string() : path;
  }

  const std::string path = MakeDirectory();
  const Result<platform::BucketDirectory> directory =
      platform::BucketDirectory::Open(path, "caretaker");
  core::LockManager manager = machine.ManagerOf(q);
  core::Caretaker caretaker{manager, *directory, {.sweeps = false}};
};

TEST_F(CaretakerTest, CleansUpAfterAProcessThatIsDead) {
  Ask(a, u"n");
  Ask(b, u"n");
  machine.Kill(p);
  ASSERT_TRUE(caretaker.Watch(p).ok());
  Until([this] { return IsCleanedUp(p); });
  EXPECT_TRUE(IsHeld(2));
}

// The descriptors of a dying process close one after the other, which takes long where there is
// much to free or little time to run.
TEST_F(CaretakerTest, GoesOnAskingWhileAProcessIsDying) {
  constexpr uint32_t kAskedOftenAtFirst = 200;
  ASSERT_TRUE(caretaker.Watch(p).ok());
  Until([this] { return machine.environment().times_asked(p) > kAskedOftenAtFirst + 3; });
  machine.Kill(p);
  Until([this] { return IsCleanedUp(p); });
}

TEST_F(CaretakerTest, LooksForOthersWhenItHasFoundSomebodyDead) {
  machine.Kill(p);
  machine.Kill(r);
  ASSERT_TRUE(caretaker.Watch(p).ok());
  Until([this] { return IsCleanedUp(p) && IsCleanedUp(r); });
}

}  // namespace
}  // namespace holdfast::test
