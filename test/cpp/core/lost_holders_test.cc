// Without a holder, no request has to wait. Corruption that says otherwise is found before it makes
// a request wait for ever.
#include "segment/shard_view.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class LostHolders : public LockTableTest {
 protected:
  segment::NameCell& NameOfRequest(FakeAgent& agent, uint32_t id) {
    const core::RecordRef record = agent.mine().at(id).record;
    const segment::ShardView view(machine.segment(), record.shard);
    return *view.NameAt(view.RequestAt(record.cell)->name.Get());
  }
};

TEST_F(LostHolders, AreFoundAgainByARequest) {
  Request(a, u"n");
  NameOfRequest(a, 1).held_head.Set(segment::kNoCell);
  EXPECT_EQ(Request(b, u"n").blocker.process, p);
  EXPECT_TRUE(IsHeld(1) && IsQueued(2));
}

TEST_F(LostHolders, AreFoundAgainByARequestIfAvailable) {
  Request(a, u"n");
  NameOfRequest(a, 1).held_head.Set(segment::kNoCell);
  EXPECT_EQ(Request(b, u"n", kIfAvailable).blocker.process, p);
}

TEST_F(LostHolders, ThatAreOnlyCountedKeepNoRequestWaiting) {
  Request(a, u"n", kShared);
  Request(b, u"n");
  NameOfRequest(a, 1).held_exclusive.Set(1);
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_TRUE(IsHeld(2));
}

}  // namespace
}  // namespace holdfast::test
