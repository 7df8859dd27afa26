#include "platform/doorbell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "platform/child_process.h"
#include "platform/clock.h"
#include "platform/test_segment.h"
#include "support/readable.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

using test::IsReadable;

class WakeChannelTest : public testing::Test {
 protected:
  Doorbell MakeDoorbell(const std::string& name = "doorbell") const {
    return *Doorbell::Create(bucket_, name);
  }
  PeerDoorbell Peer() const { return *PeerDoorbell::Open(bucket_, "doorbell"); }
  StatusCode CodeOfOpening() const {
    return PeerDoorbell::Open(bucket_, "doorbell").status().code();
  }
  StatusCode CodeOfCreating() const {
    return Doorbell::Create(bucket_, "doorbell").status().code();
  }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const std::string path_ = root_ / "parent/bucket/doorbell";
};

using DoorbellTest = WakeChannelTest;
using PeerDoorbellTest = WakeChannelTest;

TEST_F(DoorbellTest, IsAFifoForTheOwnerAlone) {
  const Doorbell doorbell = MakeDoorbell();
  struct stat found {};
  ASSERT_EQ(lstat(path_.c_str(), &found), 0);
  EXPECT_TRUE(S_ISFIFO(found.st_mode));
  EXPECT_EQ(found.st_mode & 07777, 0600U);
}

// A pipe has sixteen pages by default, and all of a user's pipes have a quota.
TEST_F(DoorbellTest, TakesOnePageOfTheQuotaOfPipes) {
  const Doorbell doorbell = MakeDoorbell();
  EXPECT_EQ(fcntl(doorbell.fd(), F_GETPIPE_SZ), sysconf(_SC_PAGESIZE));
}

TEST_F(DoorbellTest, IsQuietUntilItIsRung) {
  const Doorbell doorbell = MakeDoorbell();
  EXPECT_FALSE(IsReadable(doorbell.fd()));
  ASSERT_TRUE(Peer().Ring().ok());
  EXPECT_TRUE(IsReadable(doorbell.fd()));
}

TEST_F(DoorbellTest, IsWaitedForUntilItIsRung) {
  constexpr uint64_t kForeverNs = UINT64_MAX;
  const Doorbell doorbell = MakeDoorbell();
  std::thread ringer([&] { EXPECT_TRUE(Peer().Ring().ok()); });
  doorbell.Wait(kForeverNs);
  EXPECT_TRUE(IsReadable(doorbell.fd()));
  ringer.join();
}

TEST_F(DoorbellTest, IsWaitedForAsLongAsSaid) {
  constexpr uint64_t kNs = 20'000'000;
  const Doorbell doorbell = MakeDoorbell();
  const uint64_t start = MonotonicNs();
  doorbell.Wait(kNs);
  EXPECT_GE(MonotonicNs() - start, kNs);
}

TEST_F(DoorbellTest, IsQuietAgainOnceDrained) {
  const Doorbell doorbell = MakeDoorbell();
  const PeerDoorbell peer = Peer();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(peer.Ring().ok());
  doorbell.Drain();
  EXPECT_FALSE(IsReadable(doorbell.fd()));
  ASSERT_TRUE(peer.Ring().ok());
  EXPECT_TRUE(IsReadable(doorbell.fd()));
}

// A program has closed the descriptor, and has another file under the number.
TEST_F(DoorbellTest, NeitherReadsNorClosesAnotherFileUnderItsNumber) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  int number = -1;
  {
    const Doorbell doorbell = MakeDoorbell();
    number = doorbell.fd();
    ASSERT_EQ(dup2(pipe_ends[0], number), number);
    ASSERT_EQ(write(pipe_ends[1], "mine", 4), 4);
    doorbell.Drain();
  }
  std::array<char, 8> found{};
  EXPECT_EQ(read(number, found.data(), found.size()), 4);
  for (const int fd : {number, pipe_ends[0], pipe_ends[1]}) close(fd);
}

TEST_F(DoorbellTest, IsWaitedForAsLongAsSaidAlsoWhenItIsClosed) {
  constexpr uint64_t kNs = 20'000'000;
  const Doorbell doorbell = MakeDoorbell();
  close(doorbell.fd());
  const uint64_t start = MonotonicNs();
  doorbell.Wait(kNs);
  EXPECT_GE(MonotonicNs() - start, kNs);
}

TEST_F(DoorbellTest, DoesNotBlockWhenThereIsNothingToDrain) {
  const Doorbell doorbell = MakeDoorbell();
  doorbell.Drain();
}

TEST_F(DoorbellTest, IsQuietAfterItsPeersHaveGone) {
  const Doorbell doorbell = MakeDoorbell();
  { const PeerDoorbell peer = Peer(); }
  EXPECT_FALSE(IsReadable(doorbell.fd()));
}

TEST_F(DoorbellTest, RemovesItsFifo) {
  { const Doorbell doorbell = MakeDoorbell(); }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, RemovesItsFifoOnceWhenItMoved) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  const Doorbell moved = *std::move(doorbell);
  doorbell.reset();  // NOLINT(bugprone-use-after-move): destroys what was moved from
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, OutlivesTheBucketDirectoryItWasMadeIn) {
  {
    std::optional<BucketDirectory> directory = OpenBucket(root_ / "parent");
    const Result<Doorbell> doorbell = Doorbell::Create(*directory, "other");
    ASSERT_TRUE(doorbell.ok());
    directory.reset();
  }
  EXPECT_TRUE(NamesIn(root_ / "parent/bucket").empty());
}

TEST_F(DoorbellTest, LeavesTheFifoToTheParentWhenAForkedChildDestroysIt) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  EXPECT_EQ(ChildProcess::Run([&] {
              doorbell.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, RefusesANameInUse) {
  const Doorbell doorbell = MakeDoorbell();
  EXPECT_EQ(CodeOfCreating(), StatusCode::kBusy);
  EXPECT_TRUE(Peer().Ring().ok()) << "the first one works on";
}

TEST_F(DoorbellTest, ReplacesOneThatItsDeadOwnerLeft) {
  ChildProcess owner([&](ChildProcess& self) {
    const Doorbell doorbell = MakeDoorbell();
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
  std::optional<Doorbell> first = MakeDoorbell();
  ASSERT_TRUE(bucket_.Unlink("doorbell").ok());
  const Doorbell second = MakeDoorbell();
  first.reset();
  EXPECT_TRUE(Peer().Ring().ok());
}

TEST_F(DoorbellTest, DoesNotReplaceOtherFiles) {
  close(creat(path_.c_str(), 0600));
  EXPECT_EQ(CodeOfCreating(), StatusCode::kNoAccess);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(DoorbellTest, TakesOnlyNames) {
  EXPECT_EQ(Doorbell::Create(bucket_, "../doorbell").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PeerDoorbell::Open(bucket_, "../doorbell").status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(PeerDoorbellTest, NeitherWritesNorClosesAnotherFileUnderItsNumber) {
  const std::string other = root_ / "other";
  const Doorbell doorbell = MakeDoorbell();
  int number = -1;
  {
    const PeerDoorbell peer = Peer();
    number = peer.fd();
    const UniqueFd file(open(other.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(dup2(file.get(), number), number);
    EXPECT_EQ(peer.Ring().code(), StatusCode::kDisconnected);
  }
  struct stat found {};
  EXPECT_EQ(fstat(number, &found), 0);
  EXPECT_EQ(found.st_size, 0);
  close(number);
}

TEST_F(PeerDoorbellTest, FindsNoReaderWithoutADoorbell) {
  EXPECT_EQ(CodeOfOpening(), StatusCode::kClosed);
}

TEST_F(PeerDoorbellTest, FindsNoReaderOfAnOpenDoorbellWithoutOne) {
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

TEST_F(PeerDoorbellTest, RefusesALinkToADoorbell) {
  const Doorbell doorbell = MakeDoorbell("other");
  ASSERT_EQ(symlink("other", path_.c_str()), 0);
  EXPECT_EQ(CodeOfOpening(), StatusCode::kNoAccess);
}

TEST_F(PeerDoorbellTest, RefusesAnotherUsersFifo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  const Doorbell doorbell = MakeDoorbell();
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(CodeOfOpening(), StatusCode::kNoAccess);
}

TEST_F(PeerDoorbellTest, IsContentWhenTheDoorbellIsFullOfRings) {
  const Doorbell doorbell = MakeDoorbell();
  const PeerDoorbell peer = Peer();
  const char rings[4096] = {};
  while (write(peer.fd(), rings, sizeof(rings)) > 0) continue;
  EXPECT_TRUE(peer.Ring().ok());
}

}  // namespace
}  // namespace holdfast
