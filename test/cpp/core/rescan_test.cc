// Events that may have been lost: an agent reads all its records again.
#include <set>

#include "core/lock_table.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::RecordEvent;
using Position = core::LockTable::RescanPosition;
using segment::CellState;

class Rescan : public LockTableTest {
 protected:
  // Reads all records of `agent` in both shards.
  Status Read(FakeAgent& agent, std::vector<RecordEvent>& records,
              std::vector<RecordEvent>& popped) {
    for (uint32_t shard = 0; shard < machine.segment().geometry().shards; ++shard) {
      Position position;
      const Status done =
          agent.lock_table().Rescan(agent.ref(), shard, position, records, popped, kShardTimeoutNs);
      if (!done.ok()) return done;
      EXPECT_TRUE(position.is_complete);
    }
    return Status();
  }
  segment::RequestCell& CellOf(const core::RecordRef& record) {
    return segment::AsRequest(*machine.segment().CellAt(record.shard, record.cell));
  }
};

TEST_F(Rescan, FindsEveryRecordOfTheAgent) {
  Request(a, u"n");
  Request(b, u"n");
  Request(b, u"m");
  std::vector<RecordEvent> records;
  std::vector<RecordEvent> popped;
  ASSERT_TRUE(Read(b, records, popped).ok());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].request_id + records[1].request_id, 2U + 3U);
}

TEST_F(Rescan, FindsAGrantWhoseEventWasNeverLinked) {
  Request(a, u"n");
  const core::RecordRef record = Request(b, u"n").record;
  ASSERT_TRUE(a.End(1).ok());
  machine.segment().agent(b.ref().index).event_head.Set(segment::kNoCell);  // died while pushing
  machine.segment().agent(b.ref().index).rescan.Set(1);
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_TRUE(b.Holds(2));
  EXPECT_EQ(CellOf(record).event_next.Get(), segment::kNotLinked);
}

TEST_F(Rescan, FreesAZombieWhoseEventWasNeverLinked) {
  Request(a, u"n");
  Request(b, u"n");
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.End(2).ok());
  machine.segment().agent(b.ref().index).event_head.Set(segment::kNoCell);
  machine.segment().agent(b.ref().index).rescan.Set(1);
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(Rescan, SaysWhetherAnotherAgentIsBeforeAWaitingRequest) {
  Request(a, u"n");
  Request(a2, u"n");
  Request(b, u"n");
  std::vector<RecordEvent> of_a2;
  std::vector<RecordEvent> of_b;
  std::vector<RecordEvent> popped;
  ASSERT_TRUE(Read(a2, of_a2, popped).ok());
  ASSERT_TRUE(Read(b, of_b, popped).ok());
  EXPECT_FALSE(of_a2.at(0).may_be_blocked_by_others);
  EXPECT_TRUE(of_b.at(0).may_be_blocked_by_others);
}

// An agent takes what a complete rescan does not show for lost.
TEST_F(Rescan, FindsARecordThatALinkOfItsAgentNoLongerLeadsTo) {
  const core::RecordRef first = Request(b, u"n").record;
  Request(b, u"n");
  const core::RecordRef last = Request(b, u"n").record;
  CellOf(last).agent_next.Set(0xFFFF);
  std::vector<RecordEvent> records;
  std::vector<RecordEvent> popped;
  Position position;
  ASSERT_TRUE(
      b.lock_table().Rescan(b.ref(), first.shard, position, records, popped, kShardTimeoutNs).ok());
  std::set<uint32_t> found;
  for (const RecordEvent& record : records) found.insert(record.request_id);
  EXPECT_THAT(found, testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace holdfast::test
