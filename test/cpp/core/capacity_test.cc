// Room: growth by extents, a full segment, and what a request costs.
#include "core/lock_table.h"
#include "support/lock_table_test.h"
#include "support/table_image.h"

namespace holdfast::test {
namespace {

using core::RequestOutcome;

constexpr uint32_t kCells = 48;  // 6 extents of 8
constexpr uint32_t kCellsPerExtent = 8;

class Capacity : public LockTableTest {
 protected:
  std::u16string OfAnotherShard(std::u16string_view name) const {
    const auto shard_of = [this](std::u16string_view text) {
      return NameOf(text).ShardIn(machine.segment());
    };
    std::u16string other(name);
    while (shard_of(other) == shard_of(name)) other += u'x';
    return other;
  }
  // Requests `name` until there is no more room; how many were taken.
  uint32_t Fill(std::u16string_view name) {
    for (uint32_t count = 0;; ++count) {
      const Result<core::RequestReply> reply = a.Request(++last_id, name, kExclusive);
      if (reply.ok()) continue;
      EXPECT_EQ(reply.status().code(), StatusCode::kSegmentFull);
      return count;
    }
  }
};

TEST_F(Capacity, GivesOneHotNameTheWholeSegment) { EXPECT_EQ(Fill(u"n"), kCells - 1); }

TEST_F(Capacity, LeavesNothingBehindWhenTheSegmentIsFull) {
  Fill(u"n");
  const FakeMachine::Image full = TakeTableImage(machine);
  EXPECT_EQ(b.Request(1000, u"m", kExclusive).status().code(), StatusCode::kSegmentFull);
  EXPECT_EQ(b.Request(1001, u"n", kSteal).status().code(), StatusCode::kSegmentFull);
  EXPECT_TRUE(TakeTableImage(machine) == full);
}

TEST_F(Capacity, IsWholeAgainAfterAFullSegment) {
  const uint32_t taken = Fill(u"n");
  const auto mine = a.mine();
  for (const auto& [id, known] : mine) ASSERT_TRUE(a.End(id).ok());
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_EQ(UsedCells(), 0U);
  EXPECT_EQ(Fill(u"n"), taken);
}

TEST_F(Capacity, GivesToOthersWhatOneHotNameNoLongerNeeds) {
  const uint32_t taken = Fill(u"n");
  const auto mine = a.mine();
  for (const auto& [id, known] : mine) ASSERT_TRUE(a.End(id).ok());
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_EQ(Fill(OfAnotherShard(u"n")), taken);
}

TEST_F(Capacity, GivesToOthersWithoutARepair) {
  Fill(u"n");
  const auto mine = a.mine();
  for (const auto& [id, known] : mine) ASSERT_TRUE(a.End(id).ok());
  ASSERT_TRUE(a.TakeEvents().ok());
  IdOf(b, OfAnotherShard(u"n"));
  for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
    EXPECT_EQ(machine.segment().shard(shard).dirty.Get(), 0U);
  }
}

TEST_F(Capacity, LeavesAShardTheExtentsThatItUses) {
  const uint32_t biased = IdOf(b, u"n");
  Fill(u"n");
  const auto mine = a.mine();
  for (const auto& [id, known] : mine) ASSERT_TRUE(a.End(id).ok());
  ASSERT_TRUE(a.TakeEvents().ok());
  EXPECT_EQ(Fill(OfAnotherShard(u"n")), kCells - kCellsPerExtent - 1);
  EXPECT_TRUE(IsHeld(biased));
  EXPECT_EQ(Outcome(c, u"n", kIfAvailable), RequestOutcome::kMissed);
}

TEST_F(Capacity, MissesInsteadOfFailingWhenTheSegmentIsFull) {
  Fill(u"n");
  EXPECT_EQ(Outcome(b, u"n", kIfAvailable), RequestOutcome::kMissed);
}

TEST_F(Capacity, ClaimsNothingForANameThatCannotFit) {
  Request(a, u"n");
  const uint32_t free = FreeExtents();
  EXPECT_EQ(a.Request(1000, std::u16string(56 * 60, u'x'), kExclusive).status().code(),
            StatusCode::kSegmentFull);
  EXPECT_EQ(FreeExtents(), free);
}

TEST_F(Capacity, ClaimsNothingWhenTheFileSystemIsFullHalfway) {
  machine.host().AllowAllocations(2);
  EXPECT_EQ(a.Request(1000, std::u16string(56 * 30, u'x'), kExclusive).status().code(),
            StatusCode::kNoSpace);
  EXPECT_EQ(FreeExtents(), 6U);
}

TEST_F(Capacity, TakesOneCellForAFurtherRequestOfALongName) {
  const std::u16string name(56 * 30, u'x');
  Request(a, name);
  const uint32_t used = UsedCells();
  EXPECT_EQ(Outcome(b, name), RequestOutcome::kQueued);
  EXPECT_EQ(UsedCells(), used + 1);
}

TEST_F(Capacity, CostsAtMost256BytesForARequestOfADistinctShortName) {
  Request(a, std::u16string(segment::kNameCellUnits, u'x'));
  EXPECT_LE(UsedCells() * segment::kCellBytes, 256U);
}

TEST_F(Capacity, CostsLittleMoreThanItsUnitsForALongName) {
  constexpr uint32_t kUnits = 560;
  Request(a, std::u16string(segment::kNameCellUnits + kUnits, u'x'));
  EXPECT_EQ(UsedCells(), 2 + kUnits / segment::kTextCellUnits);
}

TEST_F(Capacity, TakesAnExtentThatAReapedProcessHadClaimed) {
  machine.segment().extent_owner(0).Set(segment::kExtentClaimed | r.ToShortWord());
  machine.Kill(r);
  ASSERT_TRUE(b.lock_table().Reap(r, kShardTimeoutNs).ok());
  EXPECT_EQ(Fill(u"n"), kCells - 1);
}

TEST_F(Capacity, TakesAnExtentThatAnEarlierProcessOfTheSlotHadClaimed) {
  machine.segment().extent_owner(0).Set(segment::kExtentClaimed | r.ToShortWord());
  machine.Kill(r);
  ASSERT_TRUE(b.lock_table().Reap(r, kShardTimeoutNs).ok());
  machine.Attach(r.slot);
  EXPECT_EQ(Fill(u"n"), kCells - 1);
}

// An publication list may still name operations that are there.
TEST_F(Capacity, LeavesAnExtentToADeadProcessUntilItIsReaped) {
  machine.segment().extent_owner(0).Set(segment::kExtentClaimed | r.ToShortWord());
  machine.Kill(r);
  EXPECT_EQ(Fill(u"n"), kCells - 1 - machine.segment().geometry().cells_per_extent);
}

TEST_F(Capacity, LeavesAnExtentToTheLivingProcessThatClaimedIt) {
  machine.segment().extent_owner(0).Set(segment::kExtentClaimed | r.ToShortWord());
  EXPECT_EQ(Fill(u"n"), kCells - 1 - 8);
}

TEST(DefaultCapacity, TakesAHundredThousandRequestsOfDistinctNames) {
  FakeMachine machine(segment::Geometry::ForCapacity(segment::kDefaultCapacity));
  FakeAgent agent(machine, machine.Attach(0), 0);
  std::u16string name(30, u'x');
  for (uint32_t i = 0; i < 100'000; ++i) {
    name[0] = static_cast<char16_t>(i & 0xFFFF);
    name[1] = static_cast<char16_t>(i >> 16);
    const Result<core::RequestReply> reply = agent.Request(i, name, kExclusive);
    ASSERT_TRUE(reply.ok() && reply->outcome == RequestOutcome::kGranted) << i;
  }
}

TEST(DefaultCapacity, TakesAHundredThousandRequestsOfOneName) {
  FakeMachine machine(segment::Geometry::ForCapacity(segment::kDefaultCapacity));
  FakeAgent agent(machine, machine.Attach(0), 0);
  for (uint32_t i = 0; i < 100'000; ++i) ASSERT_TRUE(agent.Request(i, u"hot", kExclusive).ok());
  for (uint32_t i = 0; i < 100'000; ++i) ASSERT_TRUE(agent.End(i).ok());
}

}  // namespace
}  // namespace holdfast::test
