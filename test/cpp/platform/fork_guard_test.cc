#include "platform/fork_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "platform/child_process.h"
#include "platform/critical_section_mark.h"
#include "platform/fd.h"
#include "platform/slot_lock.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

constexpr uint32_t kForkSlot = 5;

void Count(void* counter) { ++*static_cast<int*>(counter); }
void Ignore(void*) {}

ino_t InodeOf(int fd) {
  struct stat found {};
  return fstat(fd, &found) == 0 ? found.st_ino : 0;
}

TEST(ForkGuard, RunsItsCallbackInTheChildOnly) {
  int calls = 0;
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Count, &calls).ok());
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 1);
  EXPECT_EQ(calls, 0);
}

TEST(ForkGuard, RunsInEveryChild) {
  int calls = 0;
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Count, &calls).ok());
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 1);
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 1);
}

TEST(ForkGuard, IsNotRegisteredInTheChild) {
  int calls = 0;
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Count, &calls).ok());
  EXPECT_EQ(ChildProcess::Run([&] { return ChildProcess::Run([&] { return calls; }); }), 1);
  EXPECT_EQ(ChildProcess::Run([&] { return guard.Register(&Count, &calls).ok() ? 0 : 1; }), 0);
}

TEST(ForkGuard, DoesNothingOnceUnregistered) {
  int calls = 0;
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Count, &calls).ok());
  guard.Unregister();
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 0);
}

TEST(ForkGuard, IsUnregisteredByItsDestructorWhateverTheOrder) {
  int calls = 0;
  auto first = std::make_unique<ForkGuard>();
  auto second = std::make_unique<ForkGuard>();
  auto third = std::make_unique<ForkGuard>();
  for (ForkGuard* const guard : {first.get(), second.get(), third.get()}) {
    ASSERT_TRUE(guard->Register(&Count, &calls).ok());
  }
  second.reset();
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 2);
  third.reset();
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 1);
  first.reset();
  EXPECT_EQ(ChildProcess::Run([&] { return calls; }), 0);
}

TEST(ForkGuard, RefusesASecondRegistration) {
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Ignore, nullptr).ok());
  EXPECT_EQ(guard.Register(&Ignore, nullptr).code(), StatusCode::kBusy);
}

TEST(ForkGuard, TakesDescriptorsAwayFromTheChildButNotTheirNumbers) {
  const UniqueFd fd(open("/dev/null", O_RDWR | O_CLOEXEC));
  const ino_t inode = InodeOf(fd.get());
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Ignore, nullptr).ok());
  guard.Add(fd.get());
  const int result = ChildProcess::Run([&] {
    if (InodeOf(fd.get()) == inode) return 1;
    return fcntl(fd.get(), F_GETFD) == FD_CLOEXEC ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(InodeOf(fd.get()), inode) << "the parent keeps it";
}

// A program has closed the descriptor, and gives another file under the number to the child.
TEST(ForkGuard, LeavesAnotherFileUnderTheNumberToTheChild) {
  const UniqueFd fd(open("/dev/zero", O_RDWR | O_CLOEXEC));
  const UniqueFd other(open("/dev/null", O_RDWR | O_CLOEXEC));
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Ignore, nullptr).ok());
  guard.Add(fd.get());
  ASSERT_EQ(dup2(other.get(), fd.get()), fd.get());
  const ino_t inode = InodeOf(other.get());
  EXPECT_EQ(ChildProcess::Run([&] { return InodeOf(fd.get()) == inode ? 0 : 1; }), 0);
}

TEST(ForkGuard, LeavesARemovedDescriptorToTheChild) {
  const UniqueFd fd(open("/dev/null", O_RDWR | O_CLOEXEC));
  const ino_t inode = InodeOf(fd.get());
  ForkGuard guard;
  ASSERT_TRUE(guard.Register(&Ignore, nullptr).ok());
  guard.Add(fd.get());
  guard.Remove(fd.get());
  EXPECT_EQ(ChildProcess::Run([&] { return InodeOf(fd.get()) == inode ? 0 : 1; }), 0);
}

TEST(ForkGuard, LeavesNoThreadOfTheParentInsideInTheChild) {
  std::atomic<int> stage{0};
  std::thread other([&] {
    MarkOfThisThread().Enter();
    stage = 1;
    stage.notify_one();
    stage.wait(1);
    MarkOfThisThread().Leave();
  });
  stage.wait(0);
  EXPECT_FALSE(CriticalSectionScan().IsNoThreadInside());
  EXPECT_EQ(ChildProcess::Run([] { return CriticalSectionScan().IsNoThreadInside() ? 0 : 1; }), 0);
  stage = 2;
  stage.notify_one();
  other.join();
}

TEST(ForkGuard, KeepsTheMarkOfTheThreadThatForks) {
  MarkOfThisThread().Enter();
  EXPECT_EQ(ChildProcess::Run([] { return CriticalSectionScan().IsNoThreadInside() ? 1 : 0; }), 0);
  MarkOfThisThread().Leave();
}

TEST(ForkGuard, LetsAChildScanWhoseParentScannedInAnotherThread) {
  constexpr unsigned kGuardSeconds = 60;
  std::atomic<int> stage{0};
  std::thread other([&] {
    const CriticalSectionScan scan;
    stage = 1;
    stage.notify_one();
    stage.wait(1);
  });
  stage.wait(0);
  EXPECT_EQ(ChildProcess::Run([] {
              alarm(kGuardSeconds);
              return CriticalSectionScan().IsNoThreadInside() ? 0 : 1;
            }),
            0);
  stage = 2;
  stage.notify_one();
  other.join();
}

constexpr int kMaxChecks = 500;

// The owner of a slot forks a child that lives on, and ends; is the slot free then?
class OutlivingChildTest : public testing::Test {
 protected:
  bool IsSlotFreeAfterTheOwner(bool with_guard) {
    const SlotLock lock = *SlotLock::Open(bucket_, "segment");
    int started[2];
    int lifeline[2];
    if (pipe2(started, O_CLOEXEC) == -1 || pipe2(lifeline, O_CLOEXEC) == -1) return false;
    const UniqueFd started_reader(started[0]);
    const UniqueFd started_writer(started[1]);
    const UniqueFd lifeline_reader(lifeline[0]);
    UniqueFd lifeline_writer(lifeline[1]);
    char byte = 0;
    const int owner = ChildProcess::Run([&] {
      const SlotLock own = *SlotLock::Open(bucket_, "segment");
      ForkGuard guard;
      if (!*own.TryClaim(kForkSlot) || !guard.Register(&Ignore, nullptr).ok()) return 1;
      if (with_guard) guard.Add(own.fd());
      lifeline_writer.reset();
      // Lives until the test closes its end of the pipe.
      if (fork() == 0) {
        if (write(started_writer.get(), &byte, 1) != 1) _exit(1);
        _exit(read(lifeline_reader.get(), &byte, 1) == 0 ? 0 : 1);
      }
      return read(started_reader.get(), &byte, 1) == 1 ? 0 : 2;
    });
    EXPECT_EQ(owner, 0);
    // The kernel lets go of a file a moment after the end of its last owner can be seen; while
    // another process has the file, the kernel never does.
    for (int checks = 0; checks < kMaxChecks && *lock.IsClaimed(kForkSlot); ++checks) usleep(1000);
    const bool is_free = !*lock.IsClaimed(kForkSlot);
    lifeline_writer.reset();
    return is_free;
  }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const SegmentFile file_ = *bucket_.OpenSegment("segment", TestInit());
};

TEST_F(OutlivingChildTest, KeepsTheSlotOfAnUnguardedOwner) {
  EXPECT_FALSE(IsSlotFreeAfterTheOwner(false));
}

TEST_F(OutlivingChildTest, DoesNotKeepTheSlotOfAGuardedOwner) {
  EXPECT_TRUE(IsSlotFreeAfterTheOwner(true));
}

TEST(ForkGuard, StandsThreadsThatRegisterWhileAnotherForks) {
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const UniqueFd fd(open("/dev/null", O_RDWR | O_CLOEXEC));
      while (!done.load()) {
        int calls = 0;
        ForkGuard guard;
        EXPECT_TRUE(guard.Register(&Count, &calls).ok());
        guard.Add(fd.get());
        guard.Unregister();
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      // The lock is free in the child: it can register again.
      ForkGuard guard;
      _exit(guard.Register(&Ignore, nullptr).ok() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace holdfast
