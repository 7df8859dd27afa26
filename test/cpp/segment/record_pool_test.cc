#include "segment/record_pool.h"

#include <set>

#include "segment/shard_fixture.h"

namespace holdfast::test {
namespace {

using segment::CellId;
using segment::CellState;
using segment::kNoCell;

class RecordPoolTest : public ShardTest {};

TEST_F(RecordPoolTest, HasNothingInAnEmptyShard) {
  EXPECT_EQ(pool.FreeCount(), 0U);
  EXPECT_EQ(pool.Allocate(), kNoCell);
}

TEST_F(RecordPoolTest, GivesEveryCellOfAnExtentOnce) {
  AddExtent(0);
  std::set<CellId> taken;
  for (int i = 0; i < 8; ++i) taken.insert(pool.Allocate());
  EXPECT_EQ(taken.size(), 8U);
  EXPECT_FALSE(taken.contains(kNoCell));
  EXPECT_EQ(pool.Allocate(), kNoCell);
}

TEST_F(RecordPoolTest, LinksAFurtherExtentBeforeTheRest) {
  AddExtent(0);
  pool.Allocate();
  AddExtent(3);
  EXPECT_EQ(pool.FreeCount(), 15U);
  for (int i = 0; i < 15; ++i) EXPECT_NE(pool.Allocate(), kNoCell);
}

TEST_F(RecordPoolTest, AllocatesAFreedCellFirst) {
  AddExtent(0);
  const CellId id = TakeRequest();
  pool.Free(id, *shard.CellAt(id));
  EXPECT_EQ(pool.Allocate(), id);
}

TEST_F(RecordPoolTest, CountsWhatIsUsed) {
  AddExtent(0);
  const CellId id = TakeRequest();
  TakeRequest();
  EXPECT_EQ(shard.header().used_count.Get(), 2U);
  pool.Free(id, *shard.CellAt(id));
  EXPECT_EQ(shard.header().used_count.Get(), 1U);
}

TEST_F(RecordPoolTest, LeavesAnExtentAloneThatAnotherAgentHasClaimedMeanwhile) {
  machine.segment().extent_owner(0).Set(kClaim | 7);
  pool.AddExtent(0, kClaim);
  EXPECT_EQ(machine.segment().extent_owner(0).Get(), kClaim | 7);
  EXPECT_EQ(pool.FreeCount(), 0U);
}

TEST_F(RecordPoolTest, NoticesACellInTheFreeListThatIsInUse) {
  AddExtent(0);
  shard.CellAt(shard.header().free_head.Get())->state.Set(CellState::kHeld);
  EXPECT_EQ(pool.Allocate(), kNoCell);
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(RecordPoolTest, NoticesAFreeListThatLeadsOutOfTheShard) {
  AddExtent(0);
  for (const CellId nowhere : {CellId{9}, CellId{49}, CellId{0xFFFFFFFF}}) {
    shard.header().free_head.Set(nowhere);
    shard.header().dirty.Set(0);
    EXPECT_EQ(pool.Allocate(), kNoCell);
    EXPECT_TRUE(IsCorrupted());
  }
}

}  // namespace
}  // namespace holdfast::test
