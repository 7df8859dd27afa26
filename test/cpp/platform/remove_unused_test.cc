#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "platform/bucket_directory.h"
#include "platform/file_lock.h"
#include "platform/slot_lock.h"
#include "platform/test_segment.h"
#include "support/test_directory.h"

namespace holdfast {
namespace {

class RemoveUnusedTest : public testing::Test {
 protected:
  SegmentFile Open() const { return *bucket_.OpenSegment("segment", TestInit()); }

  TestDirectory root_;
  const BucketDirectory bucket_ = OpenBucket(root_ / "parent");
};

TEST_F(RemoveUnusedTest, RemovesAFileThatNoProcessUses) {
  const SegmentFile file = Open();
  const Result<bool> removed = bucket_.RemoveUnused("segment", file);
  ASSERT_TRUE(removed.ok());
  EXPECT_TRUE(*removed);
  EXPECT_NE(Open().id(), file.id());
}

TEST_F(RemoveUnusedTest, LeavesAFileInUse) {
  const SegmentFile file = Open();
  const SlotLock user = *SlotLock::Open(bucket_, "segment");
  ASSERT_TRUE(*user.TryClaim(3));
  EXPECT_FALSE(*bucket_.RemoveUnused("segment", file));
  EXPECT_EQ(Open().id(), file.id());
}

TEST_F(RemoveUnusedTest, LeavesTheFileThatHasReplacedIt) {
  const SegmentFile former = Open();
  ASSERT_TRUE(bucket_.Unlink("segment").ok());
  const SegmentFile present = Open();
  EXPECT_TRUE(*bucket_.RemoveUnused("segment", former));
  EXPECT_EQ(Open().id(), present.id());
}

// Another process has locked the file to remove it, and is then off its processor for as long as
// on a full machine.
TEST_F(RemoveUnusedTest, WaitsForAnotherThatIsRemovingTheFile) {
  const SegmentFile file = Open();
  const SegmentFile of_the_other = Open();
  ASSERT_EQ(*TryLockWhole(of_the_other.fd()), WholeLock::kTaken);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_TRUE(*bucket_.RemoveUnused("segment", of_the_other));
  });
  const Result<bool> removed = bucket_.RemoveUnused("segment", file);
  other.join();
  ASSERT_TRUE(removed.ok());
  EXPECT_TRUE(*removed);
  EXPECT_NE(Open().id(), file.id());
}

}  // namespace
}  // namespace holdfast
