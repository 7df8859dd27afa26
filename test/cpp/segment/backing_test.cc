// Memory that was not allocated is never touched: here it ends the process, as on a full file
// system.
#include "segment/backing.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "segment/repair.h"
#include "segment/watch_ring.h"
#include "support/fake_host.h"

namespace holdfast::test {
namespace {

using segment::AnyCell;
using segment::Geometry;
using segment::Segment;
using segment::ShardView;

// Allocates by making pages accessible.
class PageHost final : public FakeHost {
 public:
  PageHost(Segment& segment, void* base) : FakeHost(segment), base_(base) {}

  void FillUp() { is_full_ = true; }
  uint32_t allocations() const { return allocations_; }

  Status Allocate(uint64_t offset, uint64_t length) override {
    ++allocations_;
    if (failure_ != StatusCode::kOk) return {failure_, "on purpose"};
    if (is_full_) return {StatusCode::kNoSpace, "the file system of the test is full"};
    EXPECT_EQ(mprotect(static_cast<char*>(base_) + offset, length, PROT_READ | PROT_WRITE), 0);
    return {};
  }
  void FailWith(StatusCode code) { failure_ = code; }

 private:
  void* const base_;
  bool is_full_ = false;
  uint32_t allocations_ = 0;
  StatusCode failure_ = StatusCode::kOk;
};

class BackingTest : public testing::Test {
 protected:
  static constexpr uint64_t kCapacity = segment::kMinCapacity;
  static constexpr uint32_t kShard = 3;
  static constexpr uint32_t kExtent = 5;

  BackingTest() {
    const uint64_t fixed = geometry.watch_ring_at;
    EXPECT_EQ(mprotect(base + fixed, kCapacity - fixed, PROT_NONE), 0);
    segment.UseBacking(backing);
  }
  ~BackingTest() override { munmap(base, kCapacity); }
  BackingTest(const BackingTest&) = delete;
  BackingTest& operator=(const BackingTest&) = delete;

  void ClaimExtent() { segment.extent_owner(kExtent).Set(kShard + 1); }
  AnyCell* FirstCell() { return segment.CellAt(kShard, segment.FirstCell(kExtent)); }

  const Geometry geometry = Geometry::ForCapacity(kCapacity);
  char* const base = static_cast<char*>(
      mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Segment segment{base, geometry};
  PageHost host{segment, base};
  segment::Backing backing{geometry, host};
};

TEST_F(BackingTest, ShowsNoCellOfAnExtentWithoutMemory) {
  host.FillUp();
  ClaimExtent();
  EXPECT_EQ(FirstCell(), nullptr);
  EXPECT_EQ(segment.ShardOfCell(segment.FirstCell(kExtent)), geometry.shards);
}

TEST_F(BackingTest, ShowsTheCellsOnceThereIsMemory) {
  ClaimExtent();
  AnyCell* const cell = FirstCell();
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->state.Get(), segment::CellState::kFree);
}

TEST_F(BackingTest, AllocatesEachExtentOnce) {
  ClaimExtent();
  for (int i = 0; i < 3; ++i) ASSERT_NE(FirstCell(), nullptr);
  EXPECT_EQ(host.allocations(), 1U);
}

TEST_F(BackingTest, DoesNotAllocateAgainAfterThisProcess) {
  ASSERT_TRUE(host.Allocate(segment.ExtentOffset(kExtent), geometry.extent_bytes).ok());
  backing.Note(segment.ExtentOffset(kExtent), geometry.extent_bytes);
  ClaimExtent();
  ASSERT_NE(FirstCell(), nullptr);
  EXPECT_EQ(host.allocations(), 1U);
}

TEST_F(BackingTest, NotesNothingBesideTheRange) {
  backing.Note(segment.ExtentOffset(kExtent), geometry.extent_bytes);
  host.FillUp();
  for (uint32_t extent = 0; extent < geometry.extents; ++extent) {
    EXPECT_EQ(backing.HasExtent(extent), extent == kExtent) << extent;
  }
  EXPECT_FALSE(backing.HasWatchRing());
}

// Records must not vanish because the kernel gave another answer.
TEST_F(BackingTest, BelievesInTheMemoryWhenTheSystemDoesNotSay) {
  ASSERT_TRUE(host.Allocate(segment.ExtentOffset(kExtent), geometry.extent_bytes).ok());
  host.FailWith(StatusCode::kOsError);
  ClaimExtent();
  EXPECT_NE(FirstCell(), nullptr);
}

TEST_F(BackingTest, RepairPassesByAnExtentWithoutMemory) {
  host.FillUp();
  for (uint32_t extent = 0; extent < geometry.extents; ++extent) {
    segment.extent_owner(extent).Set(kShard + 1);
  }
  EXPECT_TRUE(segment::ShardRepair(ShardView(segment, kShard), host).Run().empty());
  EXPECT_EQ(segment.shard(kShard).used_count.Get(), 0U);
}

TEST_F(BackingTest, AWriterPassesByAWatchRingWithoutMemory) {
  host.FillUp();
  segment.shard(kShard).watched.Set(1);
  segment::RequestCell request{};
  segment::NameCell name{};
  segment::WatchRingWriter(ShardView(segment, kShard), false)
      .Write(host, segment::LockEvent::kQueued, request, name);
  EXPECT_EQ(segment.header().last_entry.Get(), 0U);
}

}  // namespace
}  // namespace holdfast::test
