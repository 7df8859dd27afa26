// The requests that can be reached from a waiting request, as deadlock detection reads them.
#include <utility>

#include "core/wait_for_graph.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::LockInfo;
using core::Snapshot;
using core::WaitWalk;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// The bit that lib keeps beside a token.
constexpr uint64_t kReject = uint64_t{1} << 62;

constexpr segment::Geometry::Counts kRoomy{.shards = 2,
                                           .processes = 5,
                                           .agents = 6,
                                           .buckets_per_shard = 16,
                                           .extent_bytes = 4096,
                                           .extents = 64};

std::vector<std::string> Names(const std::vector<LockInfo>& infos) {
  std::vector<std::string> names;
  for (const LockInfo& info : infos) names.emplace_back(info.name.begin(), info.name.end());
  return names;
}

class WaitWalkTest : public LockTableTest {
 protected:
  WaitWalkTest() : LockTableTest(kRoomy) {}

  // From the newest request of `agent`; `between` runs after each piece.
  template <typename Between>
  Snapshot WalkWith(FakeAgent& agent, WaitWalk::Options options, Between between) {
    core::LockTable lock_table = agent.lock_table();
    WaitWalk walk(lock_table, options, {agent.mine().rbegin()->second.record});
    for (;;) {
      const Result<bool> is_read = walk.GoOn(kShardTimeoutNs);
      EXPECT_TRUE(is_read.ok());
      if (!is_read.ok() || *is_read) break;
      between();
    }
    Snapshot all;
    for (;;) {
      Snapshot part = walk.Take(7);
      if (part.held.empty() && part.pending.empty()) return all;
      std::move(part.held.begin(), part.held.end(), std::back_inserter(all.held));
      std::move(part.pending.begin(), part.pending.end(), std::back_inserter(all.pending));
    }
  }
  Snapshot Walk(FakeAgent& agent, WaitWalk::Options options = {}) {
    return WalkWith(agent, options, [] {});
  }
};

TEST_F(WaitWalkTest, ReadsTheRequestAndItsHolder) {
  Request(a, u"n");
  Request(b, u"n");
  const Snapshot found = Walk(b);
  EXPECT_THAT(Names(found.held), ElementsAre("n"));
  EXPECT_THAT(Names(found.pending), ElementsAre("n"));
}

TEST_F(WaitWalkTest, ReadsNothingThatOthersHoldAndWaitForElsewhere) {
  Request(c, u"elsewhere");
  for (int i = 0; i < 20; ++i) Request(c, u"elsewhere");
  Request(a, u"n");
  Request(b, u"n");
  const Snapshot found = Walk(b, {.with_queues = true});
  EXPECT_THAT(Names(found.held), ElementsAre("n"));
  EXPECT_THAT(Names(found.pending), ElementsAre("n"));
}

TEST_F(WaitWalkTest, ReadsWhatTheHolderWaitsForInsideItsCallback) {
  const uint64_t token = Request(a, u"n").token;
  Request(c, u"inner");
  Request(a, u"inner", Inside(token | kReject));
  Request(b, u"n");
  const Snapshot found = Walk(b);
  EXPECT_THAT(Names(found.held), UnorderedElementsAre("n", "inner"));
  EXPECT_THAT(Names(found.pending), UnorderedElementsAre("n", "inner"));
}

TEST_F(WaitWalkTest, ReadsThroughALockThatIsHeldInsideAnother) {
  const uint64_t outer = Request(a, u"outer").token;
  const uint64_t middle = Request(a, u"middle", Inside(outer)).token;
  Request(c, u"inner");
  Request(a, u"inner", Inside(middle));
  Request(b, u"outer");
  EXPECT_THAT(Names(Walk(b).held), UnorderedElementsAre("outer", "middle", "inner"));
}

TEST_F(WaitWalkTest, PassesOverWhatTheHolderWaitsForOutside) {
  Request(a, u"n");
  const uint64_t other = Request(a, u"other").token;
  Request(c, u"inner");
  Request(a, u"inner", Inside(other));
  Request(b, u"n");
  EXPECT_THAT(Names(Walk(b).held), ElementsAre("n"));
}

TEST_F(WaitWalkTest, FollowsTheOtherAgentsOfAThread) {
  const uint64_t token = Request(a, u"n").token;
  machine.segment().agent(a2.ref().index).thread_id.Set(0);
  Request(c, u"inner");
  Request(a2, u"inner", Inside(token));
  Request(b, u"n");
  EXPECT_THAT(Names(Walk(b).held), UnorderedElementsAre("n", "inner"));
}

TEST_F(WaitWalkTest, PassesOverAHolderWhoseTimeIsLimited) {
  Request(a, u"n", HeldFor(1'000'000'000));
  const uint64_t token = a.mine().rbegin()->second.token;
  Request(c, u"inner");
  Request(a, u"inner", Inside(token));
  Request(b, u"n");
  EXPECT_THAT(Names(Walk(b).held), ElementsAre("n"));
}

TEST_F(WaitWalkTest, ReadsTheQueueOnlyOnDemand) {
  Request(a, u"n");
  Request(c, u"n");
  Request(b, u"n");
  EXPECT_THAT(Walk(b).pending, SizeIs(1));
  const Snapshot found = Walk(b, {.with_queues = true});
  ASSERT_THAT(found.pending, SizeIs(2));
  EXPECT_EQ(found.pending[0].client_id[0], c.ref().index);
}

TEST_F(WaitWalkTest, ReadsListsThatAreLongerThanAPiece) {
  for (int i = 0; i < 300; ++i) Request(a, u"n", kShared);
  for (int i = 0; i < 300; ++i) Request(b, u"n");
  const Snapshot found = Walk(b, {.with_queues = true});
  EXPECT_THAT(found.held, SizeIs(300));
  EXPECT_THAT(found.pending, SizeIs(300));
}

TEST_F(WaitWalkTest, FindsWhatStaysWhileOthersComeAndGo) {
  std::vector<uint32_t> going;
  for (int i = 0; i < 300; ++i) {
    const uint32_t id = IdOf(a, u"n", kShared);
    if (i % 2 != 0) going.push_back(id);
  }
  Request(b, u"n");
  const Snapshot found = WalkWith(b, {}, [&] {
    for (int i = 0; i < 70 && !going.empty(); ++i) {
      ASSERT_TRUE(a.End(going.back()).ok());
      going.pop_back();
      Request(c, u"n", kShared);
    }
  });
  size_t stayed = 0;
  for (const LockInfo& info : found.held) stayed += info.request_id % 2 != 0 ? 1 : 0;
  EXPECT_EQ(stayed, 150U);
}

TEST_F(WaitWalkTest, PassesOverTheDead) {
  Request(a, u"n");
  Request(b, u"n");
  machine.Kill(p);
  EXPECT_THAT(Walk(b).held, IsEmpty());
  core::LockTable lock_table = b.lock_table();
  ASSERT_TRUE(lock_table.Reap(p, kShardTimeoutNs).ok());
}

TEST_F(WaitWalkTest, ReadsLongNamesWhole) {
  const std::u16string name(300, u'x');
  Request(a, name);
  Request(b, name);
  const Snapshot found = Walk(b);
  ASSERT_THAT(found.held, SizeIs(1));
  EXPECT_EQ(found.held[0].name, name);
  EXPECT_EQ(found.pending[0].name, name);
}

TEST_F(WaitWalkTest, EndsWhereLocksSeemToBeInsideEachOther) {
  const uint64_t first = Request(a, u"1").token;
  const core::RequestReply second = Request(a, u"2", Inside(first));
  const segment::ShardView view(machine.segment(), a.mine().at(1).record.shard);
  view.RequestAt(a.mine().at(1).record.cell)->enclosing_token.Set(second.token);
  Request(b, u"1");
  EXPECT_THAT(Names(Walk(b, {true}).held), UnorderedElementsAre("1", "2"));
}

TEST_F(WaitWalkTest, HoldersOfGivesTheOldestWithWhatIsShown) {
  Request(a, u"n", {.mode = LockMode::kShared, .label = u"first"});
  Request(b, u"n", kShared);
  Request(c, u"n", kShared);
  core::LockTable lock_table = c.lock_table();
  const auto holders = core::HoldersOf(lock_table, NameOf(u"n"), 2, kShardTimeoutNs);
  ASSERT_TRUE(holders.ok());
  ASSERT_THAT(*holders, SizeIs(2));
  EXPECT_EQ((*holders)[0].info.label, u"first");
  EXPECT_EQ((*holders)[0].process, p);
  EXPECT_EQ((*holders)[1].process, q);
}

}  // namespace
}  // namespace holdfast::test
