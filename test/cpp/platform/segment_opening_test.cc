// BucketDirectory::OpenSegment where there is something already.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <set>
#include <string>

#include "platform/bucket_directory.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

class SegmentOpeningTest : public testing::TestWithParam<const char*> {
 protected:
  // A file that could be a segment, unless the test changes that.
  void MakeFile(uint64_t size = kTestCapacity, uint64_t allocated = kTestFixedBytes) {
    const UniqueFd fd(open(segment_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_TRUE(fd);
    ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    if (allocated > 0) {
      ASSERT_EQ(fallocate(fd.get(), 0, 0, static_cast<off_t>(allocated)), 0);
    }
  }

  Status Open() {
    const Result<SegmentFile> file = bucket_.OpenSegment("segment", TestInit());
    return file.status();
  }

  TestDirectory root_{GetParam()};
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
  const std::string segment_ = root_ / "parent/bucket/segment";
};

INSTANTIATE_TEST_SUITE_P(On, SegmentOpeningTest, testing::Values(kOnTmpfs, kOnDisk),
                         &NameOfDirectory);

TEST_P(SegmentOpeningTest, MapsWhatTheCreatorWrote) {
  const Result<SegmentFile> first = bucket_.OpenSegment("segment", TestInit());
  BucketDirectory::SegmentInit never = TestInit(2 * kTestCapacity);
  never.initialize = [](void* base, uint64_t) { static_cast<char*>(base)[0] = '!'; };
  const Result<SegmentFile> second = bucket_.OpenSegment("segment", never);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->size(), kTestCapacity) << "the capacity counts for new files only";
  EXPECT_STREQ(static_cast<char*>(second->base()), kTestMark);
  static_cast<char*>(first->base())[0] = 'M';
  EXPECT_EQ(static_cast<char*>(second->base())[0], 'M');
}

TEST_P(SegmentOpeningTest, TakesAFileThatCouldBeASegment) {
  MakeFile();
  EXPECT_TRUE(Open().ok());
}

TEST_P(SegmentOpeningTest, RefusesASymbolicLink) {
  MakeFile();
  ASSERT_EQ(rename(segment_.c_str(), (root_ / "victim").c_str()), 0);
  ASSERT_EQ(symlink((root_ / "victim").c_str(), segment_.c_str()), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
}

TEST_P(SegmentOpeningTest, RefusesALinkThatLeadsNowhere) {
  ASSERT_EQ(symlink((root_ / "victim").c_str(), segment_.c_str()), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
  EXPECT_NE(access((root_ / "victim").c_str(), F_OK), 0) << "nothing was created behind the link";
}

TEST_P(SegmentOpeningTest, RefusesAFifoWithoutWaiting) {
  ASSERT_EQ(mkfifo(segment_.c_str(), 0600), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
}

TEST_P(SegmentOpeningTest, RefusesADirectory) {
  ASSERT_EQ(mkdir(segment_.c_str(), 0600), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
}

TEST_P(SegmentOpeningTest, RefusesASocket) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(segment_.size(), sizeof(address.sun_path));
  segment_.copy(address.sun_path, segment_.size());
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
}

TEST_P(SegmentOpeningTest, RefusesASecondHardLink) {
  MakeFile();
  ASSERT_EQ(link(segment_.c_str(), (root_ / "other").c_str()), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
}

TEST_P(SegmentOpeningTest, RefusesEveryOtherMode) {
  MakeFile();
  for (const mode_t mode : {0660U, 0606U, 0644U, 0700U, 04600U}) {
    ASSERT_EQ(chmod(segment_.c_str(), mode), 0);
    EXPECT_EQ(Open().code(), StatusCode::kNoAccess) << std::oct << mode;
  }
}

TEST_P(SegmentOpeningTest, RefusesAnotherUsersFile) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  MakeFile();
  ASSERT_EQ(chown(segment_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(Open().code(), StatusCode::kNoAccess);
}

TEST_P(SegmentOpeningTest, RefusesImpossibleSizes) {
  const uint64_t sizes[] = {0, 4096 - 1, kTestCapacity - 1, kTestFixedBytes - 4096,
                            kMaxSegmentBytes + 4096};
  for (const uint64_t size : sizes) {
    MakeFile(size, 0);
    EXPECT_EQ(Open().code(), StatusCode::kSegmentBroken) << size;
    ASSERT_EQ(unlink(segment_.c_str()), 0);
  }
}

TEST_P(SegmentOpeningTest, RefusesASparseFixedPart) {
  MakeFile(kTestCapacity, kTestFixedBytes - 4096);
  EXPECT_EQ(Open().code(), StatusCode::kSegmentBroken);
}

TEST_P(SegmentOpeningTest, FillsAHoleInTheFixedPartThatTheCountOfBlocksHides) {
  MakeFile(kTestCapacity, 2 * kTestFixedBytes);
  const UniqueFd fd(open(segment_.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  struct stat before {};
  struct stat after {};
  fstat(fd.get(), &before);
  ASSERT_TRUE(Open().ok());
  fstat(fd.get(), &after);
  EXPECT_EQ((after.st_blocks - before.st_blocks) * 512, 4096);
}

TEST_P(SegmentOpeningTest, GivesEveryRefusalItsOwnReason) {
  std::set<std::string> reasons;
  ASSERT_EQ(symlink("nowhere", segment_.c_str()), 0);
  reasons.insert(Open().reason());
  unlink(segment_.c_str());
  ASSERT_EQ(mkdir(segment_.c_str(), 0700), 0);
  reasons.insert(Open().reason());
  rmdir(segment_.c_str());
  MakeFile(0, 0);
  reasons.insert(Open().reason());
  truncate(segment_.c_str(), kTestCapacity - 1);
  reasons.insert(Open().reason());
  truncate(segment_.c_str(), kTestCapacity);
  reasons.insert(Open().reason());
  chmod(segment_.c_str(), 0640);
  reasons.insert(Open().reason());
  EXPECT_EQ(reasons.size(), 6U);
  EXPECT_EQ(reasons.count(""), 0U);
}

TEST_P(SegmentOpeningTest, DoesNotTouchWhatItRefuses) {
  MakeFile(kTestCapacity, 0);
  ASSERT_FALSE(Open().ok());
  struct stat found {};
  ASSERT_EQ(stat(segment_.c_str(), &found), 0);
  EXPECT_EQ(found.st_blocks, 0);
  EXPECT_EQ(static_cast<uint64_t>(found.st_size), kTestCapacity);
}

}  // namespace
}  // namespace holdfast
