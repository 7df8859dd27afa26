#include "platform/segment_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "platform/child_process.h"
#include "platform/small_tmpfs.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

class SegmentFileTest : public testing::Test {
 protected:
  SegmentFile Open(uint64_t capacity = kTestCapacity) const {
    return *bucket_.OpenSegment("segment", TestInit(capacity));
  }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const std::string path_ = root_ / "parent/bucket/segment";
};

uint64_t AllocatedBytes(const SegmentFile& file) {
  struct stat found {};
  fstat(file.fd(), &found);
  return static_cast<uint64_t>(found.st_blocks) * 512;
}

char* BytesOf(const SegmentFile& file) { return static_cast<char*>(file.base()); }

TEST_F(SegmentFileTest, AllocatesTheGivenRangeAndNoMore) {
  SegmentFile file = Open();
  const uint64_t before = AllocatedBytes(file);
  ASSERT_TRUE(file.Allocate(kTestFixedBytes, 8192).ok());
  EXPECT_EQ(AllocatedBytes(file), before + 8192);
}

TEST_F(SegmentFileTest, KeepsTheContentsOfWhatIsAllocatedAgain) {
  SegmentFile file = Open();
  ASSERT_TRUE(file.Allocate(0, kTestCapacity).ok());
  EXPECT_STREQ(BytesOf(file), kTestMark);
}

TEST_F(SegmentFileTest, RefusesRangesThatAreNotInside) {
  SegmentFile file = Open();
  EXPECT_EQ(file.Allocate(0, 0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(file.Allocate(0, kTestCapacity + 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(file.Allocate(kTestCapacity, 1).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(file.Allocate(UINT64_MAX, 2).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(file.Allocate(kTestCapacity - 1, 1).ok());
}

TEST_F(SegmentFileTest, AllocatesThroughManySignals) {
  constexpr uint64_t kLarge = uint64_t{64} << 20;
  SegmentFile file = Open(kLarge);
  std::signal(SIGALRM, [](int) {});
  const itimerval every_50_us{.it_interval = {0, 50}, .it_value = {0, 50}};
  setitimer(ITIMER_REAL, &every_50_us, nullptr);
  const Status allocated = file.Allocate(0, kLarge);
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, SIG_DFL);
  EXPECT_TRUE(allocated.ok()) << allocated.reason();
  EXPECT_EQ(AllocatedBytes(file), kLarge);
}

TEST_F(SegmentFileTest, KnowsThatItWasRemoved) {
  const SegmentFile file = Open();
  EXPECT_TRUE(*file.IsAt(path_));
  ASSERT_TRUE(bucket_.Unlink("segment").ok());
  EXPECT_FALSE(*file.IsAt(path_));
}

TEST_F(SegmentFileTest, KnowsThatItWasReplaced) {
  const SegmentFile file = Open();
  const SegmentFile other = *bucket_.OpenSegment("other", TestInit());
  ASSERT_EQ(rename((root_ / "parent/bucket/other").c_str(), path_.c_str()), 0);
  EXPECT_FALSE(*file.IsAt(path_));
  EXPECT_TRUE(*other.IsAt(path_));
}

TEST_F(SegmentFileTest, KnowsThatItsDirectoryWasMovedAway) {
  const SegmentFile file = Open();
  const std::string elsewhere = root_ / "elsewhere";
  ASSERT_EQ(rename((root_ / "parent").c_str(), elsewhere.c_str()), 0);
  EXPECT_FALSE(*file.IsAt(path_));
  EXPECT_TRUE(*file.IsAt(elsewhere + "/bucket/segment"));
}

TEST_F(SegmentFileTest, KeepsItsMappingWhenItMoves) {
  SegmentFile from = Open();
  void* const base = from.base();
  SegmentFile to = Open();
  to = std::move(from);
  EXPECT_EQ(to.base(), base);
  EXPECT_STREQ(BytesOf(to), kTestMark);
}

TEST_F(SegmentFileTest, IsSharedWithAChildThatOpensIt) {
  const SegmentFile file = Open();
  EXPECT_EQ(ChildProcess::Run([&] {
              std::strcpy(BytesOf(Open()), "written by a child");
              return 0;
            }),
            0);
  EXPECT_STREQ(BytesOf(file), "written by a child");
}

class FullFileSystemTest : public testing::Test {
 protected:
  static constexpr unsigned kRoom = 64 << 10;
  static constexpr int kDone = 0;

  void OnFullTmpfs(const std::function<int()>& body) const {
    const int result = OnSmallTmpfs(root_.path(), kRoom, body);
    if (result == kCannotMount) GTEST_SKIP() << "only root may mount a file system here";
    EXPECT_EQ(result, kDone) << "negative: the signal that killed it; else the line";
  }

  TestDirectory root_;
};

BucketDirectory::SegmentInit InitWithFixedPart(uint64_t (*fixed_bytes)(uint64_t)) {
  BucketDirectory::SegmentInit init = TestInit();
  init.fixed_bytes = fixed_bytes;
  return init;
}

TEST_F(FullFileSystemTest, RefusesASegmentWhoseFixedPartDoesNotFitAndLeavesNothing) {
  OnFullTmpfs([&] {
    const BucketDirectory bucket = OpenBucket(root_ / "parent");
    const Result<SegmentFile> file = bucket.OpenSegment(
        "segment", InitWithFixedPart([](uint64_t) -> uint64_t { return kRoom + 4096; }));
    if (file.ok() || file.status().code() != StatusCode::kNoSpace) return 1;
    return NamesIn(root_ / "parent/bucket").empty() ? kDone : 2;
  });
}

TEST_F(FullFileSystemTest, StopsGrowingWithoutASignalAndKeepsWhatItHas) {
  OnFullTmpfs([&] {
    SegmentFile file = *OpenBucket(root_ / "parent").OpenSegment("segment", TestInit());
    uint64_t end = kTestFixedBytes;
    Status grown;
    while (grown.ok() && end < kTestCapacity) {
      grown = file.Allocate(end, 4096);
      if (grown.ok()) end += 4096;
    }
    if (grown.code() != StatusCode::kNoSpace) return 1;
    // Every byte that was promised is there: no SIGBUS.
    std::memset(BytesOf(file), 'x', end);
    return kDone;
  });
}

TEST_F(FullFileSystemTest, GrowsAgainOnceThereIsRoom) {
  OnFullTmpfs([&] {
    const BucketDirectory bucket = OpenBucket(root_ / "parent");
    SegmentFile file = *bucket.OpenSegment("segment", TestInit());
    Result<SegmentFile> other = bucket.OpenSegment(
        "other", InitWithFixedPart([](uint64_t) -> uint64_t { return kRoom / 2; }));
    if (!other.ok()) return 1;
    if (file.Allocate(0, kRoom - 4096).code() != StatusCode::kNoSpace) return 2;
    { const SegmentFile closed = *std::move(other); }
    if (!bucket.Unlink("other").ok()) return 3;
    return file.Allocate(0, kRoom - 4096).ok() ? kDone : 4;
  });
}

TEST_F(FullFileSystemTest, RefusesToOpenASegmentWhoseHoleCannotBeFilled) {
  OnFullTmpfs([&] {
    const BucketDirectory bucket = OpenBucket(root_ / "parent");
    SegmentFile file = *bucket.OpenSegment("segment", TestInit());
    uint64_t end = kTestFixedBytes;
    while (file.Allocate(end, 4096).ok()) end += 4096;
    // Now as many blocks as ever belong to the file, but one of the fixed part is elsewhere.
    if (fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096) == -1)
      return 1;
    if (!file.Allocate(end, 4096).ok()) return 2;
    const Result<SegmentFile> opened = bucket.OpenSegment("segment", TestInit());
    return !opened.ok() && opened.status().code() == StatusCode::kNoSpace ? kDone : 3;
  });
}

}  // namespace
}  // namespace holdfast
