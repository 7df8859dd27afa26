#include "platform/doorbell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "platform/child_process.h"
#include "platform/clock.h"
#include "platform/test_directory.h"
#include "platform/test_segment.h"

namespace holdfast {
namespace {

bool IsReadable(int fd) {
  pollfd request{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&request, 1, 0) == 1;
}

class WakeChannelTest : public testing::Test {
 protected:
  Doorbell MakeBell(const std::string& name = "bell") const {
    return *Doorbell::Create(bucket_, name);
  }
  PeerDoorbell Peer() const { return *PeerDoorbell::Open(bucket_, "bell"); }
  StatusCode CodeOfOpening() const { return PeerDoorbell::Open(bucket_, "bell").status().code(); }
  StatusCode CodeOfCreating() const { return Doorbell::Create(bucket_, "bell").status().code(); }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "place");
  const std::string path_ = root_ / "place/bucket/bell";
};

using DoorbellTest = WakeChannelTest;
using PeerDoorbellTest = WakeChannelTest;

TEST_F(DoorbellTest, IsAFifoForTheOwnerAlone) {
  const Doorbell bell = MakeBell();
  struct stat found {};
  ASSERT_EQ(lstat(path_.c_str(), &found), 0);
  EXPECT_TRUE(S_ISFIFO(found.st_mode));
  EXPECT_EQ(found.st_mode & 07777, 0600U);
}

TEST_F(DoorbellTest, IsQuietUntilItIsRung) {
  const Doorbell bell = MakeBell();
  EXPECT_FALSE(IsReadable(bell.fd()));
  ASSERT_TRUE(Peer().Ring().ok());
  EXPECT_TRUE(IsReadable(bell.fd()));
}

TEST_F(DoorbellTest, IsWaitedForUntilItIsRung) {
  constexpr uint64_t kForeverNs = UINT64_MAX;
  const Doorbell bell = MakeBell();
  std::thread ringer([&] { EXPECT_TRUE(Peer().Ring().ok()); });
  bell.Wait(kForeverNs);
  EXPECT_TRUE(IsReadable(bell.fd()));
  ringer.join();
}

TEST_F(DoorbellTest, IsWaitedForAsLongAsSaid) {
  constexpr uint64_t kNs = 20'000'000;
  const Doorbell bell = MakeBell();
  const uint64_t start = MonotonicNs();
  bell.Wait(kNs);
  EXPECT_GE(MonotonicNs() - start, kNs);
}

TEST_F(DoorbellTest, IsQuietAgainOnceDrained) {
  const Doorbell bell = MakeBell();
  const PeerDoorbell peer = Peer();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(peer.Ring().ok());
  bell.Drain();
  EXPECT_FALSE(IsReadable(bell.fd()));
  ASSERT_TRUE(peer.Ring().ok());
  EXPECT_TRUE(IsReadable(bell.fd()));
}

TEST_F(DoorbellTest, DoesNotBlockWhenThereIsNothingToDrain) {
  const Doorbell bell = MakeBell();
  bell.Drain();
}

TEST_F(DoorbellTest, IsQuietAfterItsPeersHaveGone) {
  const Doorbell bell = MakeBell();
  { const PeerDoorbell peer = Peer(); }
  EXPECT_FALSE(IsReadable(bell.fd()));
}

TEST_F(DoorbellTest, RemovesItsFifo) {
  { const Doorbell bell = MakeBell(); }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, RemovesItsFifoOnceWhenItMoved) {
  std::optional<Doorbell> bell = MakeBell();
  const Doorbell moved = *std::move(bell);
  bell.reset();  // NOLINT(bugprone-use-after-move): destroys what was moved from
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, OutlivesTheBucketDirectoryItWasMadeIn) {
  {
    std::optional<BucketDirectory> directory = OpenBucket(root_ / "place");
    const Result<Doorbell> bell = Doorbell::Create(*directory, "other");
    ASSERT_TRUE(bell.ok());
    directory.reset();
  }
  EXPECT_TRUE(NamesIn(root_ / "place/bucket").empty());
}

TEST_F(DoorbellTest, LeavesTheFifoToTheParentWhenAForkedChildDestroysIt) {
  std::optional<Doorbell> bell = MakeBell();
  EXPECT_EQ(ChildProcess::Run([&] {
              bell.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, RefusesANameInUse) {
  const Doorbell bell = MakeBell();
  EXPECT_EQ(CodeOfCreating(), StatusCode::kBusy);
  EXPECT_TRUE(Peer().Ring().ok()) << "the first one works on";
}

TEST_F(DoorbellTest, ReplacesOneThatItsDeadOwnerLeft) {
  ChildProcess owner([&](ChildProcess& self) {
    const Doorbell bell = MakeBell();
    self.SayReady();
    self.WaitForParent();
    return 0;
  });
  ASSERT_TRUE(owner.WaitUntilReady());
  owner.Kill();
  ASSERT_EQ(owner.Wait(), -SIGKILL);
  ASSERT_EQ(access(path_.c_str(), F_OK), 0);
  EXPECT_EQ(CodeOfCreating(), StatusCode::kOk);
}

TEST_F(DoorbellTest, DoesNotRemoveAnotherOfItsName) {
  std::optional<Doorbell> first = MakeBell();
  ASSERT_TRUE(bucket_.Unlink("bell").ok());
  const Doorbell second = MakeBell();
  first.reset();
  EXPECT_TRUE(Peer().Ring().ok());
}

TEST_F(DoorbellTest, DoesNotReplaceOtherFiles) {
  close(creat(path_.c_str(), 0600));
  EXPECT_EQ(CodeOfCreating(), StatusCode::kNoAccess);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, TakesOnlyNames) {
  EXPECT_EQ(Doorbell::Create(bucket_, "../bell").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PeerDoorbell::Open(bucket_, "../bell").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PeerDoorbellTest, FindsNobodyWhereThereIsNoBell) {
  EXPECT_EQ(CodeOfOpening(), StatusCode::kClosed);
}

TEST_F(PeerDoorbellTest, FindsNobodyWhereNobodyReads) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(CodeOfOpening(), StatusCode::kClosed);
}

TEST_F(PeerDoorbellTest, RefusesWhatIsNoFifo) {
  close(creat(path_.c_str(), 0600));
  EXPECT_EQ(CodeOfOpening(), StatusCode::kNoAccess);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_EQ(CodeOfOpening(), StatusCode::kNoAccess);
}

TEST_F(PeerDoorbellTest, RefusesALinkToABell) {
  const Doorbell bell = MakeBell("other");
  ASSERT_EQ(symlink("other", path_.c_str()), 0);
  EXPECT_EQ(CodeOfOpening(), StatusCode::kNoAccess);
}

TEST_F(PeerDoorbellTest, RefusesAnotherUsersFifo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  const Doorbell bell = MakeBell();
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(CodeOfOpening(), StatusCode::kNoAccess);
}

TEST_F(PeerDoorbellTest, IsContentWhenTheBellIsFullOfRings) {
  const Doorbell bell = MakeBell();
  const PeerDoorbell peer = Peer();
  const char rings[4096] = {};
  while (write(peer.fd(), rings, sizeof(rings)) > 0) continue;
  EXPECT_TRUE(peer.Ring().ok());
}

}  // namespace
}  // namespace holdfast
