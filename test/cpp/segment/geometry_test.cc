#include "segment/geometry.h"

#include <gtest/gtest.h>

#include <bit>

#include "segment/layout.h"
#include "segment/segment.h"

namespace holdfast::segment {
namespace {

class EveryCapacity : public testing::TestWithParam<uint64_t> {
 protected:
  const Geometry g = Geometry::ForCapacity(GetParam());
};

TEST_P(EveryCapacity, HasPartsThatDoNotOverlap) {
  EXPECT_GE(g.shards_at, sizeof(SegmentHeader));
  EXPECT_GE(g.processes_at, g.shards_at + g.shards * sizeof(ShardHeader));
  EXPECT_GE(g.agents_at, g.processes_at + g.processes * sizeof(ProcessEntry));
  EXPECT_GE(g.agent_lists_at, g.agents_at + g.agents * sizeof(AgentEntry));
  const uint64_t lists = uint64_t{g.agents} * g.shards;
  EXPECT_GE(g.extent_owners_at, g.agent_lists_at + lists * sizeof(CellId));
  EXPECT_GE(g.buckets_at, g.extent_owners_at + g.extents * sizeof(uint32_t));
  const uint64_t buckets = uint64_t{g.shards} * g.buckets_per_shard;
  EXPECT_GE(g.watch_ring_at, g.buckets_at + buckets * sizeof(CellId));
  EXPECT_GE(g.watch_ring_words_at, g.watch_ring_at + g.watch_ring_slots * sizeof(WatchRingSlot));
  EXPECT_GE(g.extents_at, g.watch_ring_words_at + g.watch_ring_words * sizeof(uint64_t));
}

TEST_P(EveryCapacity, FitsIntoTheFileAndUsesNearlyAllOfIt) {
  const uint64_t end = g.extents_at + uint64_t{g.extents} * g.extent_bytes;
  EXPECT_LE(end, GetParam());
  EXPECT_LT(GetParam() - end, g.extent_bytes);
}

TEST_P(EveryCapacity, AlignsEverything) {
  EXPECT_EQ(g.agents_at % alignof(AgentEntry), 0U);
  EXPECT_EQ(g.agent_lists_at % kCellBytes, 0U);
  EXPECT_EQ(g.buckets_at % kCellBytes, 0U);
  EXPECT_EQ(g.extents_at % 4096, 0U);
  EXPECT_EQ(g.extent_bytes % 4096, 0U);
}

TEST_P(EveryCapacity, DividesByPowersOfTwo) {
  EXPECT_TRUE(std::has_single_bit(g.buckets_per_shard));
  EXPECT_TRUE(std::has_single_bit(g.cells_per_extent));
  EXPECT_TRUE(std::has_single_bit(g.watch_ring_slots));
  EXPECT_TRUE(std::has_single_bit(g.watch_ring_words));
}

TEST_P(EveryCapacity, KeepsAtLeastThreeQuartersForTheCells) {
  EXPECT_GE(uint64_t{g.cells()} * kCellBytes, GetParam() / 4 * 3);
}

TEST_P(EveryCapacity, LetsEveryShardHaveAnExtent) { EXPECT_GE(g.extents, g.shards); }

// The lock word has 11 bits for the slot, an owner 16 for the agent.
TEST_P(EveryCapacity, HasNoMoreProcessesAndAgentsThanCanBeNamed) {
  EXPECT_LT(g.processes, 1U << 11);
  EXPECT_LE(g.agents, 1U << 16);
}

INSTANTIATE_TEST_SUITE_P(Geometry, EveryCapacity,
                         testing::Values(kMinCapacity, kMinCapacity + 4096, uint64_t{3} << 20,
                                         uint64_t{10} << 20, kDefaultCapacity,
                                         kDefaultCapacity + 4096, uint64_t{1} << 30,
                                         uint64_t{5'000'003} << 10 & ~uint64_t{4095},
                                         kMaxCapacity));

TEST(Geometry, TakesOnlyCapacitiesOfWholePagesInItsRange) {
  EXPECT_TRUE(IsValidCapacity(kMinCapacity));
  EXPECT_TRUE(IsValidCapacity(kMaxCapacity));
  EXPECT_FALSE(IsValidCapacity(kMinCapacity - 4096));
  EXPECT_FALSE(IsValidCapacity(kMaxCapacity + 4096));
  EXPECT_FALSE(IsValidCapacity(kDefaultCapacity + 1));
}

// A request and its name take two cells. Names spread unevenly over the shards, so that each may
// have one extent that is nearly empty.
TEST(Geometry, HasRoomForAHundredThousandDistinctNamesByDefault) {
  const Geometry g = Geometry::ForCapacity(kDefaultCapacity);
  EXPECT_GE(g.cells() - g.shards * g.cells_per_extent, 200'000U);
}

}  // namespace
}  // namespace holdfast::segment
