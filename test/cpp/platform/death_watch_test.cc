#include "platform/death_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "platform/child_process.h"
#include "platform/doorbell.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

class DeathWatchTest : public testing::Test {
 protected:
  Doorbell MakeDoorbell(const std::string& name = "doorbell") const {
    return *Doorbell::Create(bucket_, name);
  }
  PeerDoorbell PeerOf(const std::string& name = "doorbell") const {
    return *PeerDoorbell::Open(bucket_, name);
  }
  // The keys of one Wait, sorted.
  std::vector<uint64_t> Wait(int timeout_ms, int capacity = 16) const {
    std::vector<uint64_t> keys(static_cast<size_t>(capacity));
    keys.resize(static_cast<size_t>(watch_.Wait(timeout_ms, keys.data(), capacity)));
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  // Whether a Wait for ever would come back at once.
  bool WouldReturn() const {
    pollfd request{.fd = watch_.fd(), .events = POLLIN, .revents = 0};
    return poll(&request, 1, 0) == 1;
  }

  using Keys = std::vector<uint64_t>;
  static constexpr int kForEver = -1;

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const DeathWatch watch_ = *DeathWatch::Create();
};

// It must not be checked again and again.
TEST_F(DeathWatchTest, SaysThatItsDescriptorWasClosed) {
  DeathWatch watch = *DeathWatch::Create();
  close(watch.fd());
  uint64_t key = 0;
  EXPECT_EQ(watch.Wait(kForEver, &key, 1), -1);
  watch.Abandon();
}

// The number of the only eventfd that is opened meanwhile.
int EventFdOf(const std::function<void()>& open_it) {
  const auto is_event_fd = [](int fd) {
    std::array<char, 64> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    return readlink(link.c_str(), target.data(), target.size() - 1) > 0 &&
           std::string(target.data()) == "anon_inode:[eventfd]";
  };
  constexpr int kNumbers = 64;
  std::array<bool, kNumbers> before{};
  for (int fd = 0; fd < kNumbers; ++fd) before[static_cast<size_t>(fd)] = is_event_fd(fd);
  open_it();
  for (int fd = 0; fd < kNumbers; ++fd) {
    if (!before[static_cast<size_t>(fd)] && is_event_fd(fd)) return fd;
  }
  return -1;
}

// Otherwise a thread that joins the watching thread, at the end of an agent, waits for ever.
TEST_F(DeathWatchTest, CanBeWokenWhenAnotherFileHasTheNumberItIsWokenBy) {
  std::optional<DeathWatch> watch;
  const int wake = EventFdOf([&] { watch = *DeathWatch::Create(); });
  ASSERT_NE(wake, -1);
  const std::string path = root_ / "file";
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(dup2(file.get(), wake), wake);
  std::thread waker([&] { watch->Wake(); });
  uint64_t key = 0;
  EXPECT_EQ(watch->Wait(kForEver, &key, 1), -1);
  waker.join();
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), 0) << "nothing is written into it";
  watch->Abandon();
  close(wake);
}

TEST_F(DeathWatchTest, ReportsAPeerThatIsKilled) {
  ChildProcess child([&](ChildProcess& self) {
    const Doorbell doorbell = MakeDoorbell();
    self.SayReady();
    self.WaitForParent();
    return 0;
  });
  ASSERT_TRUE(child.WaitUntilReady());
  const PeerDoorbell peer = PeerOf();
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  EXPECT_EQ(Wait(0), Keys{});
  child.Kill();
  EXPECT_EQ(Wait(kForEver), Keys{7});
}

TEST_F(DeathWatchTest, ReportsADeathOnce) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  doorbell.reset();
  EXPECT_EQ(Wait(kForEver), Keys{7});
  EXPECT_FALSE(WouldReturn());
}

TEST_F(DeathWatchTest, ReportsAProcessThatIsDeadAlready) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  doorbell.reset();
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  EXPECT_EQ(Wait(kForEver), Keys{7});
}

TEST_F(DeathWatchTest, IsSilentAboutTheLivingWhateverTheyRing) {
  const Doorbell doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  ASSERT_TRUE(peer.Ring().ok());
  doorbell.Drain();
  EXPECT_EQ(Wait(0), Keys{});
}

TEST_F(DeathWatchTest, ForgetsAnUnwatchedProcess) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  watch_.Unwatch(peer.fd());
  doorbell.reset();
  EXPECT_EQ(Wait(0), Keys{});
}

TEST_F(DeathWatchTest, WatchesAgainAfterUnwatch) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  watch_.Unwatch(peer.fd());
  ASSERT_TRUE(watch_.Watch(peer.fd(), 8).ok());
  doorbell.reset();
  EXPECT_EQ(Wait(kForEver), Keys{8});
}

TEST_F(DeathWatchTest, ReportsNoMoreThanFitAndTheRestLater) {
  std::vector<Doorbell> doorbells;
  std::vector<PeerDoorbell> peers;
  for (uint64_t key = 0; key < 3; ++key) {
    const std::string name = "doorbell" + std::to_string(key);
    doorbells.push_back(MakeDoorbell(name));
    peers.push_back(PeerOf(name));
    ASSERT_TRUE(watch_.Watch(peers.back().fd(), key).ok());
  }
  doorbells.clear();
  Keys all = Wait(kForEver, 2);
  EXPECT_EQ(all.size(), 2U);
  for (const uint64_t key : Wait(kForEver, 2)) all.push_back(key);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Keys{0, 1, 2}));
}

TEST_F(DeathWatchTest, ReturnsOnceHoweverOftenItWasWokenBefore) {
  watch_.Wake();
  watch_.Wake();
  EXPECT_TRUE(WouldReturn());
  EXPECT_EQ(Wait(kForEver), Keys{});
  EXPECT_FALSE(WouldReturn());
}

TEST_F(DeathWatchTest, CanBeWokenAgain) {
  for (int i = 0; i < 3; ++i) {
    watch_.Wake();
    EXPECT_EQ(Wait(kForEver), Keys{});
  }
}

TEST_F(DeathWatchTest, ReturnsWhenAnotherThreadWakesIt) {
  std::thread waker([&] { watch_.Wake(); });
  EXPECT_EQ(Wait(kForEver), Keys{});
  waker.join();
}

TEST_F(DeathWatchTest, WatchesWhatAnotherThreadAddsWhileItWaits) {
  std::optional<Doorbell> doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  std::thread other([&] {
    EXPECT_TRUE(watch_.Watch(peer.fd(), 7).ok());
    doorbell.reset();
  });
  EXPECT_EQ(Wait(kForEver), Keys{7});
  other.join();
}

TEST_F(DeathWatchTest, RefusesWhatItCannotWatch) {
  const Doorbell doorbell = MakeDoorbell();
  const PeerDoorbell peer = PeerOf();
  const UniqueFd regular(open((root_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(watch_.Watch(peer.fd(), DeathWatch::kReservedKey).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(watch_.Watch(regular.get(), 7).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(watch_.Watch(-1, 7).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(watch_.Watch(peer.fd(), 7).ok());
  EXPECT_EQ(watch_.Watch(peer.fd(), 8).code(), StatusCode::kBusy);
}

}  // namespace
}  // namespace holdfast
