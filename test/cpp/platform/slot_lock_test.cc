#include "platform/slot_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "platform/child_process.h"
#include "platform/death_watch.h"
#include "platform/doorbell.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

constexpr uint32_t kSlot = 5;

class SlotLockTest : public testing::Test {
 protected:
  SlotLock Open() const { return *SlotLock::Open(bucket_, "segment"); }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const SegmentFile file_ = *bucket_.OpenSegment("segment", TestInit());
};

TEST_F(SlotLockTest, GivesASlotToOneOnly) {
  const SlotLock first = Open();
  const SlotLock second = Open();
  EXPECT_TRUE(*first.TryClaim(kSlot));
  EXPECT_FALSE(*second.TryClaim(kSlot));
  EXPECT_TRUE(*second.TryClaim(kSlot + 1));
}

TEST_F(SlotLockTest, ShowsOthersButNotTheOwnerThatASlotIsClaimed) {
  const SlotLock owner = Open();
  const SlotLock other = Open();
  EXPECT_FALSE(*other.IsClaimed(kSlot));
  ASSERT_TRUE(*owner.TryClaim(kSlot));
  EXPECT_TRUE(*other.IsClaimed(kSlot));
  EXPECT_FALSE(*other.IsClaimed(kSlot + 1));
  EXPECT_FALSE(*owner.IsClaimed(kSlot));
}

TEST_F(SlotLockTest, MayClaimItsOwnSlotAgain) {
  const SlotLock owner = Open();
  ASSERT_TRUE(*owner.TryClaim(kSlot));
  EXPECT_TRUE(*owner.TryClaim(kSlot));
}

TEST_F(SlotLockTest, FreesASlotThatItUnclaims) {
  const SlotLock first = Open();
  ASSERT_TRUE(*first.TryClaim(kSlot));
  first.Unclaim(kSlot);
  EXPECT_TRUE(*Open().TryClaim(kSlot));
}

TEST_F(SlotLockTest, FreesItsSlotsWhenItGoes) {
  std::optional<SlotLock> first = Open();
  ASSERT_TRUE(*first->TryClaim(kSlot));
  const SlotLock second = Open();
  first.reset();
  EXPECT_TRUE(*second.TryClaim(kSlot));
}

TEST_F(SlotLockTest, KeepsTheSlotWhenTheFileIsOpenedAndClosedElsewhereInTheProcess) {
  const SlotLock owner = Open();
  ASSERT_TRUE(*owner.TryClaim(kSlot));
  close(open((root_ / "parent/bucket/segment").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(*Open().IsClaimed(kSlot));
}

// A stray close() or closefrom() must not make a healthy process look dead.
TEST_F(SlotLockTest, KeepsTheSlotWhenItsDescriptorIsClosedByMistake) {
  SlotLock owner = Open();
  ASSERT_TRUE(*owner.TryClaim(kSlot));
  ASSERT_TRUE(owner.Keep().ok());
  EXPECT_TRUE(owner.IsIntact(kSlot));
  close(owner.fd());
  EXPECT_TRUE(*Open().IsClaimed(kSlot));
  EXPECT_FALSE(owner.IsIntact(kSlot));
  owner.Abandon();
}

TEST_F(SlotLockTest, FindsItsDescriptorReusedByAnotherFileOrAnotherOpeningOfTheSame) {
  SlotLock owner = Open();
  ASSERT_TRUE(*owner.TryClaim(kSlot));
  ASSERT_TRUE(owner.Keep().ok());
  const UniqueFd other(open("/dev/null", O_RDWR | O_CLOEXEC));
  ASSERT_EQ(dup2(other.get(), owner.fd()), owner.fd());
  EXPECT_FALSE(owner.IsIntact(kSlot));
  const SlotLock same_file = Open();
  ASSERT_EQ(dup2(same_file.fd(), owner.fd()), owner.fd());
  EXPECT_FALSE(owner.IsIntact(kSlot));
}

TEST_F(SlotLockTest, FreesWhatItKeepsWhenItGoes) {
  std::optional<SlotLock> owner = Open();
  ASSERT_TRUE(*owner->TryClaim(kSlot));
  ASSERT_TRUE(owner->Keep().ok());
  owner.reset();
  EXPECT_TRUE(*Open().TryClaim(kSlot));
}

// The child lives on when its parent has died.
TEST_F(SlotLockTest, IsNotKeptByAForkedChild) {
  std::optional<SlotLock> owner = Open();
  ASSERT_TRUE(*owner->TryClaim(kSlot));
  ASSERT_TRUE(owner->Keep().ok());
  ChildProcess child([&](ChildProcess& self) {
    close(owner->fd());
    self.SayReady();
    self.WaitForParent();
    return 0;
  });
  ASSERT_TRUE(child.WaitUntilReady());
  owner.reset();
  EXPECT_FALSE(*Open().IsClaimed(kSlot));
}

TEST_F(SlotLockTest, LeavesTheDataUnlocked) {
  const SlotLock owner = Open();
  ASSERT_TRUE(*owner.TryClaim(0));
  struct flock whole_data {};
  whole_data.l_type = F_WRLCK;
  whole_data.l_len = static_cast<off_t>(kMaxSegmentBytes);
  EXPECT_EQ(fcntl(file_.fd(), F_OFD_SETLK, &whole_data), 0);
}

TEST_F(SlotLockTest, MatchesTheMappedFile) { EXPECT_TRUE(*Open().Matches(file_)); }

TEST_F(SlotLockTest, DoesNotMatchAFileThatWasReplaced) {
  ASSERT_TRUE(bucket_.Unlink("segment").ok());
  const Result<SegmentFile> replacement = bucket_.OpenSegment("segment", TestInit());
  ASSERT_TRUE(replacement.ok());
  EXPECT_FALSE(*Open().Matches(file_));
}

TEST_F(SlotLockTest, SaysThatThereIsNoFile) {
  const Result<SlotLock> lock = SlotLock::Open(bucket_, "missing");
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.status().code(), StatusCode::kClosed);
}

TEST_F(SlotLockTest, IsNotInheritedByPrograms) {
  EXPECT_EQ(fcntl(Open().fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(SlotLockTest, WorksWithALowLimitOnDescriptors) {
  const int result = ChildProcess::Run([&] {
    const rlimit low{.rlim_cur = 64, .rlim_max = 64};
    setrlimit(RLIMIT_NOFILE, &low);
    Result<SlotLock> lock = SlotLock::Open(bucket_, "segment");
    if (!lock.ok() || !*lock->TryClaim(kSlot)) return 1;
    constexpr int kLast = 63;
    lock->MoveAbove(kLast);
    return *Open().IsClaimed(kSlot) ? 0 : 2;
  });
  EXPECT_EQ(result, 0);
}

TEST_F(SlotLockTest, MovesAboveAnotherDescriptorWithItsClaims) {
  SlotLock lock = Open();
  ASSERT_TRUE(*lock.TryClaim(kSlot));
  for (const int fd : {5, 47, 48, 63, 100}) {
    lock.MoveAbove(fd);
    EXPECT_GT(lock.fd(), fd);
    EXPECT_EQ(fcntl(lock.fd(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  }
  EXPECT_TRUE(*Open().IsClaimed(kSlot));
}

// A larger table of descriptors takes longer to make than all the rest of joining.
TEST_F(SlotLockTest, NeedsNoMoreThanTheFirst64DescriptorsBesideAFewOthers) {
  SlotLock lock = Open();
  constexpr int kFew = 40;
  lock.MoveAbove(kFew);
  EXPECT_LT(lock.fd(), 64);
}

// Holds the slot and the doorbell "doorbell", which was opened later, until it is killed.
int HoldSlotAndDoorbell(const BucketDirectory& bucket, ChildProcess& self) {
  Result<SlotLock> lock = SlotLock::Open(bucket, "segment");
  if (!lock.ok() || !*lock->TryClaim(kSlot)) return 1;
  // Between the two in number unless the lock moves; closing it, which frees its memory, takes
  // longer than the check does.
  const UniqueFd large(memfd_create("large", MFD_CLOEXEC));
  if (fallocate(large.get(), 0, 0, 32 << 20) == -1) return 2;
  const Result<Doorbell> doorbell = Doorbell::Create(bucket, "doorbell");
  if (!doorbell.ok()) return 3;
  lock->MoveAbove(doorbell->fd());
  self.SayReady();
  self.WaitForParent();
  return 0;
}

TEST_F(SlotLockTest, IsFreeOnceItsOwnerWasKilled) {
  const SlotLock lock = Open();
  ChildProcess owner([&](ChildProcess& self) { return HoldSlotAndDoorbell(bucket_, self); });
  ASSERT_TRUE(owner.WaitUntilReady());
  EXPECT_FALSE(*lock.TryClaim(kSlot));
  owner.Kill();
  ASSERT_EQ(owner.Wait(), -SIGKILL);
  EXPECT_TRUE(*lock.TryClaim(kSlot));
}

TEST_F(SlotLockTest, IsFreeBeforeItsOwnersDoorbellFallsSilent) {
  const SlotLock lock = Open();
  const Result<DeathWatch> watch = DeathWatch::Create();
  ASSERT_TRUE(watch.ok());
  for (int round = 0; round < 10; ++round) {
    ChildProcess owner([&](ChildProcess& self) { return HoldSlotAndDoorbell(bucket_, self); });
    ASSERT_TRUE(owner.WaitUntilReady());
    const Result<PeerDoorbell> peer = PeerDoorbell::Open(bucket_, "doorbell");
    ASSERT_TRUE(peer.ok() && watch->Watch(peer->fd(), 7).ok());
    owner.Kill();
    uint64_t key = 0;
    while (watch->Wait(0, &key, 1) == 0) continue;
    EXPECT_FALSE(*lock.IsClaimed(kSlot));
    watch->Unwatch(peer->fd());
  }
}

TEST_F(SlotLockTest, SpansPidNamespaces) {
  constexpr int kCannotUnshare = 77;
  const SlotLock lock = Open();
  // The owner is process 1 of its namespace, as in a container.
  ChildProcess outer([&](ChildProcess& self) {
    if (unshare(CLONE_NEWPID) == -1) return kCannotUnshare;
    ChildProcess owner([&](ChildProcess& inner) { return HoldSlotAndDoorbell(bucket_, inner); });
    if (!owner.WaitUntilReady()) return 1;
    self.SayReady();
    self.WaitForParent();
    owner.Kill();
    return owner.Wait() == -SIGKILL ? 0 : 2;
  });
  if (!outer.WaitUntilReady()) {
    ASSERT_EQ(outer.Wait(), kCannotUnshare);
    GTEST_SKIP() << "only root may make a PID namespace here";
  }
  EXPECT_TRUE(*lock.IsClaimed(kSlot));
  outer.Continue();
  ASSERT_EQ(outer.Wait(), 0);
  EXPECT_FALSE(*lock.IsClaimed(kSlot));
}

}  // namespace
}  // namespace holdfast
