#include "segment/request_list.h"

#include <vector>

#include "segment/shard_fixture.h"

namespace holdfast::test {
namespace {

using segment::AgentList;
using segment::CellId;
using segment::kNoCell;
using segment::NameCell;
using segment::RequestList;
using testing::ElementsAre;
using testing::IsEmpty;

class RequestListTest : public ShardTest {
 protected:
  RequestListTest() {
    AddExtent(0);
    const CellId id = pool.Allocate();
    name_ = &segment::AsName(*shard.CellAt(id));
  }
  RequestList Queue() { return RequestList::Queue(shard, *name_); }
  std::vector<CellId> AppendThree() {
    std::vector<CellId> ids;
    for (int i = 0; i < 3; ++i) {
      ids.push_back(TakeRequest());
      EXPECT_TRUE(Queue().Append(ids.back(), At(ids.back())));
    }
    return ids;
  }
  // Read forwards; the way back must be the same.
  std::vector<CellId> Ids() {
    std::vector<CellId> ids;
    CellId previous = kNoCell;
    for (CellId id = Queue().First(); id != kNoCell; id = At(id).next.Get()) {
      EXPECT_EQ(At(id).previous.Get(), previous);
      ids.push_back(id);
      previous = id;
    }
    EXPECT_EQ(Queue().Last(), previous);
    return ids;
  }

  NameCell* name_ = nullptr;
};

TEST_F(RequestListTest, KeepsTheOrderOfArrival) {
  const std::vector<CellId> ids = AppendThree();
  EXPECT_EQ(Ids(), ids);
}

TEST_F(RequestListTest, RemovesTheHead) {
  const std::vector<CellId> ids = AppendThree();
  EXPECT_TRUE(Queue().Remove(ids[0], At(ids[0])));
  EXPECT_THAT(Ids(), ElementsAre(ids[1], ids[2]));
}

TEST_F(RequestListTest, RemovesFromTheMiddle) {
  const std::vector<CellId> ids = AppendThree();
  EXPECT_TRUE(Queue().Remove(ids[1], At(ids[1])));
  EXPECT_THAT(Ids(), ElementsAre(ids[0], ids[2]));
}

TEST_F(RequestListTest, RemovesTheTail) {
  const std::vector<CellId> ids = AppendThree();
  EXPECT_TRUE(Queue().Remove(ids[2], At(ids[2])));
  EXPECT_THAT(Ids(), ElementsAre(ids[0], ids[1]));
}

TEST_F(RequestListTest, IsEmptyAgainAfterTheLast) {
  for (const CellId id : AppendThree()) EXPECT_TRUE(Queue().Remove(id, At(id)));
  EXPECT_TRUE(Queue().IsEmpty());
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(RequestListTest, WritesNothingWhenANeighbourDoesNotLinkBack) {
  const std::vector<CellId> ids = AppendThree();
  At(ids[2]).previous.Set(ids[0]);
  const FakeMachine::Image before = machine.TakeImage();
  EXPECT_FALSE(Queue().Remove(ids[1], At(ids[1])));
  EXPECT_TRUE(IsCorrupted());
  shard.header().dirty.Set(0);
  EXPECT_TRUE(machine.TakeImage() == before);
}

TEST_F(RequestListTest, WritesNothingWhenALinkLeadsNowhere) {
  const std::vector<CellId> ids = AppendThree();
  At(ids[1]).next.Set(0xFFFF);
  EXPECT_FALSE(Queue().Remove(ids[1], At(ids[1])));
  EXPECT_TRUE(IsCorrupted());
  EXPECT_EQ(At(ids[0]).next.Get(), ids[1]);
}

TEST_F(RequestListTest, AppendsNothingBehindATailThatGoesOn) {
  const std::vector<CellId> ids = AppendThree();
  name_->queue_tail.Set(ids[1]);
  const CellId id = TakeRequest();
  EXPECT_FALSE(Queue().Append(id, At(id)));
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(RequestListTest, AppendsNothingWithoutATailWhileThereIsAHead) {
  AppendThree();
  name_->queue_tail.Set(kNoCell);
  const CellId id = TakeRequest();
  EXPECT_FALSE(Queue().Append(id, At(id)));
  EXPECT_TRUE(IsCorrupted());
}

TEST_F(RequestListTest, KeepsTheRequestsOfAnAgentNewestFirst) {
  AgentList list(shard, 3);
  const CellId first = TakeRequest();
  const CellId second = TakeRequest();
  EXPECT_TRUE(list.Add(first, At(first)));
  EXPECT_TRUE(list.Add(second, At(second)));
  EXPECT_EQ(list.First(), second);
  EXPECT_EQ(At(second).agent_next.Get(), first);
}

TEST_F(RequestListTest, TakesRequestsOfAnAgentOutInAnyOrder) {
  AgentList list(shard, 3);
  const std::vector<CellId> ids = {TakeRequest(), TakeRequest(), TakeRequest()};
  for (const CellId id : ids) ASSERT_TRUE(list.Add(id, At(id)));
  for (const CellId id : {ids[1], ids[2], ids[0]}) EXPECT_TRUE(list.Remove(id, At(id)));
  EXPECT_EQ(list.First(), kNoCell);
}

TEST_F(RequestListTest, NoticesThatARequestIsNotInTheListOfItsAgent) {
  AgentList list(shard, 3);
  const CellId in = TakeRequest();
  const CellId out = TakeRequest();
  ASSERT_TRUE(list.Add(in, At(in)));
  EXPECT_FALSE(list.Remove(out, At(out)));
  EXPECT_TRUE(IsCorrupted());
  EXPECT_EQ(list.First(), in);
}

}  // namespace
}  // namespace holdfast::test
