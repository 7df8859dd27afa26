#include "segment/event_list.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "segment/shard_fixture.h"

namespace holdfast::test {
namespace {

using segment::CellId;
using segment::CellState;
using segment::EventReader;
using segment::PushEvent;
using testing::ElementsAre;
using testing::IsEmpty;

class EventListTest : public ShardTest {
 protected:
  EventListTest() { AddExtent(0); }

  void Push(CellId id) { PushEvent(machine.segment(), id, At(id)); }
  std::vector<CellId> Take(uint32_t agent = 0) {
    std::vector<CellId> ids;
    EventReader events(machine.segment(), agent);
    CellId id = segment::kNoCell;
    while (events.Next(id) != nullptr) ids.push_back(id);
    return ids;
  }
  bool Rescans(uint32_t agent) const { return machine.segment().agent(agent).rescan.Get() != 0; }
};

TEST_F(EventListTest, GivesTheNewestFirst) {
  const CellId first = TakeRequest();
  const CellId second = TakeRequest();
  Push(first);
  Push(second);
  EXPECT_THAT(Take(), ElementsAre(second, first));
}

TEST_F(EventListTest, IsEmptyOnceTaken) {
  Push(TakeRequest());
  Take();
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_FALSE(segment::HasEvents(machine.segment().agent(0)));
}

TEST_F(EventListTest, NamesARecordOnceThatIsPushedTwice) {
  const CellId id = TakeRequest();
  Push(id);
  Push(id);
  EXPECT_THAT(Take(), ElementsAre(id));
}

TEST_F(EventListTest, TakesARecordAgainAfterItWasRead) {
  const CellId id = TakeRequest();
  Push(id);
  Take();
  Push(id);
  EXPECT_THAT(Take(), ElementsAre(id));
}

TEST_F(EventListTest, KeepsAgentsApart) {
  const CellId id = TakeRequest();
  At(id).agent.Set(1);
  Push(id);
  EXPECT_THAT(Take(0), IsEmpty());
  EXPECT_THAT(Take(1), ElementsAre(id));
}

TEST_F(EventListTest, MakesBothAgentsRescanWhenItRunsIntoTheRecordOfAnother) {
  const CellId id = TakeRequest();
  Push(id);
  At(id).agent.Set(1);
  EXPECT_THAT(Take(0), IsEmpty());
  EXPECT_TRUE(Rescans(0) && Rescans(1));
}

TEST_F(EventListTest, MakesItsAgentRescanWhenItLeadsNowhere) {
  for (const CellId nowhere : {9U, 49U, 0xFFFFFFFEU}) {
    machine.segment().agent(0).rescan.Set(0);
    machine.segment().agent(0).event_head.Set(nowhere);
    EXPECT_THAT(Take(), IsEmpty());
    EXPECT_TRUE(Rescans(0));
  }
}

TEST_F(EventListTest, EndsWhenItGoesInACycle) {
  const CellId first = TakeRequest();
  const CellId second = TakeRequest();
  Push(first);
  Push(second);
  At(first).event_next.Set(second);
  EXPECT_LE(Take().size(), machine.segment().geometry().cells() + 1);
}

TEST_F(EventListTest, GivesNoCellOfAnExtentWhoseShardCannotBe) {
  Push(TakeRequest());
  machine.segment().extent_owner(0).Set(machine.segment().geometry().shards + 1);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_TRUE(Rescans(0));
}

TEST_F(EventListTest, PushesNothingForAnAgentThatCannotBe) {
  const CellId id = TakeRequest();
  At(id).agent.Set(0xFFFF);
  Push(id);
  EXPECT_EQ(At(id).event_next.Get(), segment::kNotLinked);
}

// Two shards push at once (each under its own lock) while the agent takes: whatever state was
// stored last before a push is read after it.
TEST_F(EventListTest, LosesNoPushBesideAReader) {
  constexpr uint64_t kPushes = 20'000;
  machine.segment().extent_owner(1).Set(2);
  const CellId records[] = {TakeRequest(), segment::CellId{9}};
  At(records[1]).state.Set(CellState::kWaiting);
  std::atomic<int> pushers{2};
  std::vector<std::thread> threads;
  for (const CellId id : records) {
    threads.emplace_back([&, id] {
      for (uint64_t i = 1; i <= kPushes; ++i) {
        At(id).token.Set(i);
        At(id).state.Publish(CellState::kHeld);
        Push(id);
      }
      --pushers;
    });
  }
  uint64_t seen[] = {0, 0};
  for (bool is_last = false; !is_last;) {
    is_last = pushers.load() == 0;
    for (const CellId id : Take()) {
      const uint64_t token = At(id).token.Get();
      uint64_t& last = seen[id == records[0] ? 0 : 1];
      EXPECT_GE(token, last);
      last = token;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen[0], kPushes);
  EXPECT_EQ(seen[1], kPushes);
}

}  // namespace
}  // namespace holdfast::test
