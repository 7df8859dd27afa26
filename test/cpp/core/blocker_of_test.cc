// The process whose death would bring a waiting request forward.
#include "core/blockers.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::Blocker;
using segment::ProcessRef;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class BlockerOfTest : public LockTableTest {
 protected:
  std::vector<ProcessRef> Blockers(FakeAgent& agent, uint32_t id) {
    core::LockTable lock_table = agent.lock_table();
    const Result<std::vector<ProcessRef>> blockers =
        core::Blockers(lock_table, agent.mine().at(id).record, kShardTimeoutNs);
    EXPECT_TRUE(blockers.ok());
    return blockers.ok() ? *blockers : std::vector<ProcessRef>{};
  }
};

TEST_F(BlockerOfTest, IsTheHolderForTheFirstInTheQueue) {
  Request(a, u"n");
  const Blocker blocker = Request(b, u"n").blocker;
  EXPECT_EQ(blocker.process, p);
  EXPECT_FALSE(blocker.several);
}

TEST_F(BlockerOfTest, IsThePredecessorFurtherBack) {
  Request(a, u"n");
  Request(b, u"n");
  EXPECT_EQ(Request(c, u"n").blocker.process, q);
}

TEST_F(BlockerOfTest, IsSeveralWhenThereAreSeveralHolders) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  EXPECT_TRUE(Request(c, u"n").blocker.several);
}

TEST_F(BlockerOfTest, AreAllHoldersForTheFirstInTheQueue) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  Request(c, u"n");
  EXPECT_THAT(Blockers(c, 3), UnorderedElementsAre(p, q));
}

TEST_F(BlockerOfTest, NamesAProcessOnceThatHoldsSeveralTimes) {
  Request(a, u"n", kShared);
  Request(a2, u"n", kShared);
  Request(b, u"n");
  EXPECT_THAT(Blockers(b, 3), ElementsAre(p));
}

TEST_F(BlockerOfTest, IsThePredecessorAloneFurtherBackAlsoOnACall) {
  Request(a, u"n");
  Request(b, u"n");
  Request(c, u"n");
  EXPECT_THAT(Blockers(c, 3), ElementsAre(q));
}

TEST_F(BlockerOfTest, IsNoneForALockThatIsHeld) {
  Request(a, u"n");
  EXPECT_THAT(Blockers(a, 1), IsEmpty());
}

TEST_F(BlockerOfTest, IsNoneForARequestThatIsGone) {
  Request(a, u"n");
  Request(b, u"n");
  const core::RecordRef record = b.mine().at(2).record;
  ASSERT_TRUE(b.End(2).ok());
  core::LockTable lock_table = b.lock_table();
  const Result<std::vector<ProcessRef>> blockers =
      core::Blockers(lock_table, record, kShardTimeoutNs);
  ASSERT_TRUE(blockers.ok());
  EXPECT_THAT(*blockers, IsEmpty());
}

TEST_F(BlockerOfTest, HoldersAreEachProcessOnceInWhateverMode) {
  Request(a, u"n", kShared);
  Request(a2, u"n", kShared);
  Request(b, u"n", kShared);
  Request(c, u"n");
  Request(c, u"m");
  core::LockTable lock_table = c.lock_table();
  const auto holdings_of = [](segment::ProcessRef process, uint32_t count, bool is_exclusive) {
    return AllOf(Field(&core::Holdings::process, process), Field(&core::Holdings::count, count),
                 Field(&core::Holdings::is_exclusive, is_exclusive));
  };
  const auto shared = core::Holders(lock_table, NameOf(u"n"), kShardTimeoutNs);
  ASSERT_TRUE(shared.ok());
  EXPECT_THAT(*shared, UnorderedElementsAre(holdings_of(p, 2, false), holdings_of(q, 1, false)));
  const auto exclusive = core::Holders(lock_table, NameOf(u"m"), kShardTimeoutNs);
  ASSERT_TRUE(exclusive.ok());
  EXPECT_THAT(*exclusive, UnorderedElementsAre(holdings_of(r, 1, true)));
}

TEST_F(BlockerOfTest, HoldersOfAnUnknownNameAreNone) {
  core::LockTable lock_table = c.lock_table();
  const auto holders = core::Holders(lock_table, NameOf(u"nobody's"), kShardTimeoutNs);
  ASSERT_TRUE(holders.ok());
  EXPECT_THAT(*holders, IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
