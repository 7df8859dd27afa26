// BucketDirectory::OpenSegment if there is no segment yet, or another process creates it too.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "platform/bucket_directory.h"
#include "platform/child_process.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

ChildProcess* maker = nullptr;  // for `initialize`, which gets no context

class SegmentCreationTest : public testing::TestWithParam<const char*> {
 protected:
  TestDirectory root_{GetParam()};
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const std::string path_ = root_ / "parent/bucket";
};

INSTANTIATE_TEST_SUITE_P(On, SegmentCreationTest, testing::Values(kOnTmpfs, kOnDisk),
                         &NameOfDirectory);

struct stat StatOf(const std::string& path) {
  struct stat found {};
  lstat(path.c_str(), &found);
  return found;
}

TEST_P(SegmentCreationTest, MakesAFileOfTheCapacityWithTheFixedPartAllocated) {
  const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit());
  ASSERT_TRUE(file.ok()) << file.status().reason();
  EXPECT_EQ(file->size(), kTestCapacity);
  const struct stat found = StatOf(path_ + "/segment");
  EXPECT_EQ(static_cast<uint64_t>(found.st_size), kTestCapacity);
  EXPECT_GE(static_cast<uint64_t>(found.st_blocks) * 512, kTestFixedBytes);
  EXPECT_LT(static_cast<uint64_t>(found.st_blocks) * 512, kTestCapacity);
}

TEST_P(SegmentCreationTest, FillsItBeforeItHasItsName) {
  BucketDirectory::SegmentInit init = TestInit();
  static std::string path;
  path = path_ + "/segment";
  static bool had_its_name;
  had_its_name = true;
  init.initialize = [](void*, uint64_t) { had_its_name = access(path.c_str(), F_OK) == 0; };
  ASSERT_TRUE(bucket_.OpenSegment("segment", init).ok());
  EXPECT_FALSE(had_its_name);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
}

TEST_P(SegmentCreationTest, LeavesNothingElseBehind) {
  ASSERT_TRUE(bucket_.OpenSegment("segment", TestInit()).ok());
  EXPECT_EQ(NamesIn(path_), std::vector<std::string>{"segment"});
}

TEST_P(SegmentCreationTest, SetsTheModeWhateverTheUmask) {
  for (const mode_t mask : {0000U, 0777U}) {
    const mode_t before = umask(mask);
    const bool ok = bucket_.OpenSegment("segment", TestInit()).ok();
    umask(before);
    ASSERT_TRUE(ok);
    EXPECT_EQ(StatOf(path_ + "/segment").st_mode & 07777, 0600U);
    ASSERT_TRUE(bucket_.Unlink("segment").ok());
  }
}

TEST_P(SegmentCreationTest, GivesManyCreatorsTheSameFile) {
  constexpr size_t kCreators = 12;
  constexpr int kRounds = 20;
  auto* const inodes = static_cast<ino_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<ChildProcess>> creators;
    for (size_t i = 0; i < kCreators; ++i) {
      creators.push_back(std::make_unique<ChildProcess>([&, i](ChildProcess& self) {
        self.WaitForParent();
        const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit());
        if (!file.ok()) return 10 + static_cast<int>(file.status().code());
        if (std::string(static_cast<char*>(file->base())) != kTestMark) return 1;
        struct stat found {};
        fstat(file->fd(), &found);
        inodes[i] = found.st_ino;
        return 0;
      }));
    }
    for (const auto& creator : creators) creator->Continue();
    for (const auto& creator : creators) ASSERT_EQ(creator->Wait(), 0);
    EXPECT_EQ(std::count(inodes, inodes + kCreators, inodes[0]),
              static_cast<std::ptrdiff_t>(kCreators));
    EXPECT_EQ(NamesIn(path_), std::vector<std::string>{"segment"});
    ASSERT_TRUE(bucket_.Unlink("segment").ok());
  }
  munmap(inodes, 4096);
}

// A child that stops in the middle of filling its file, until the parent continues it.
int CreateAndStop(const BucketDirectory& bucket, ChildProcess& self) {
  maker = &self;
  BucketDirectory::SegmentInit init = TestInit();
  init.initialize = [](void*, uint64_t) {
    maker->SayReady();
    maker->WaitForParent();
  };
  const Result<SegmentFile> file = bucket.OpenSegment("segment", init);
  if (!file.ok()) return 2;
  return std::string(static_cast<char*>(file->base())) == kTestMark ? 0 : 1;
}

TEST_P(SegmentCreationTest, DoesNotWaitForAnotherCreatorNorDisturbIt) {
  ChildProcess slow([&](ChildProcess& self) { return CreateAndStop(bucket_, self); });
  ASSERT_TRUE(slow.WaitUntilReady());
  ASSERT_TRUE(bucket_.OpenSegment("segment", TestInit()).ok());
  EXPECT_EQ(NamesIn(path_).size(), 2U);
  slow.Continue();
  EXPECT_EQ(slow.Wait(), 0) << "0: it found the faster one's file";
  EXPECT_EQ(NamesIn(path_), std::vector<std::string>{"segment"});
}

TEST_P(SegmentCreationTest, RemovesWhatAKilledCreatorLeft) {
  ChildProcess killed([&](ChildProcess& self) { return CreateAndStop(bucket_, self); });
  ASSERT_TRUE(killed.WaitUntilReady());
  killed.Kill();
  ASSERT_EQ(killed.Wait(), -SIGKILL);
  ASSERT_EQ(NamesIn(path_).size(), 1U);
  ASSERT_TRUE(bucket_.OpenSegment("segment", TestInit()).ok());
  EXPECT_EQ(NamesIn(path_), std::vector<std::string>{"segment"});
}

TEST_P(SegmentCreationTest, StartsAgainWhenItsDraftIsTakenAway) {
  BucketDirectory::SegmentInit init = TestInit();
  static std::string path;
  static int fills;
  path = path_;
  fills = 0;
  init.initialize = [](void*, uint64_t) {
    if (++fills > 1) return;
    for (const std::string& name : NamesIn(path)) unlink((path + "/" + name).c_str());
  };
  EXPECT_TRUE(bucket_.OpenSegment("segment", init).ok());
  EXPECT_EQ(fills, 2);
}

TEST_P(SegmentCreationTest, SaysThatTheDirectoryIsGone) {
  ASSERT_EQ(rmdir(path_.c_str()), 0);
  const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kClosed);
}

TEST_P(SegmentCreationTest, SurvivesALimitOnFileSizes) {
  const int result = ChildProcess::Run([&] {
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit());
    return file.ok() ? 100 : static_cast<int>(file.status().code());
  });
  EXPECT_EQ(result, static_cast<int>(StatusCode::kNoSpace)) << "negative: a signal killed it";
  EXPECT_TRUE(NamesIn(path_).empty());
}

TEST_P(SegmentCreationTest, RefusesCapacitiesThatNoSegmentHas) {
  for (const uint64_t capacity :
       {uint64_t{0}, uint64_t{4095}, kTestFixedBytes / 2, kMaxSegmentBytes + kSegmentUnitBytes}) {
    const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit(capacity));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code(), StatusCode::kInvalidArgument) << capacity;
  }
  EXPECT_TRUE(NamesIn(path_).empty());
}

TEST_P(SegmentCreationTest, TakesASparseSegmentOfTheLargestCapacity) {
  const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit(kMaxSegmentBytes));
  ASSERT_TRUE(file.ok()) << file.status().reason();
  EXPECT_EQ(file->size(), kMaxSegmentBytes);
}

}  // namespace
}  // namespace holdfast
