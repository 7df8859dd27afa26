// Beyond the standard: a label that a request brings along to be shown.
#include <string>

#include "core/snapshot.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class Label : public LockTableTest {
 protected:
  std::u16string Shown(FakeAgent& agent) {
    core::LockTable lock_table = agent.lock_table();
    const Result<core::Snapshot> snapshot = core::TakeSnapshot(lock_table, kShardTimeoutNs);
    EXPECT_TRUE(snapshot.ok());
    return snapshot.ok() && !snapshot->held.empty() ? snapshot->held[0].label : u"(none held)";
  }
};

class LabelOfEveryLength : public Label, public testing::WithParamInterface<size_t> {};

TEST_P(LabelOfEveryLength, IsShownAndFreed) {
  std::u16string label;
  while (label.size() < GetParam()) label.push_back(static_cast<char16_t>(0xD800 + label.size()));
  Request(a, u"n", {.label = label});
  EXPECT_EQ(Shown(b), label);
  EXPECT_EQ(segment::CheckInvariants(machine.segment()), std::vector<std::string>{});
  ASSERT_TRUE(a.End(1).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Units, LabelOfEveryLength, testing::Values(0, 1, 55, 56, 57, 112, 120));

TEST_F(Label, IsCutWhereItIsTooLong) {
  Request(a, u"n", {.label = std::u16string(121, u'x')});
  EXPECT_EQ(Shown(a), std::u16string(segment::kMaxLabelUnits, u'x'));
}

TEST_F(Label, IsFreedWithALockThatWasStolen) {
  Request(a, u"n", kLabelled);
  Request(b, u"n", kSteal);
  ASSERT_TRUE(a.TakeEvents().ok());
  ASSERT_TRUE(b.End(2).ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(Label, IsFreedWithARequestThatWasTakenBackBeforeItsGrantWasRead) {
  Request(a, u"n");
  Request(b, u"n", kLabelled);
  ASSERT_TRUE(a.End(1).ok());
  ASSERT_TRUE(b.End(2).ok());  // among its events still
  ASSERT_TRUE(b.TakeEvents().ok());
  EXPECT_EQ(UsedCells(), 0U);
}

TEST_F(Label, TakesRoomThatTheTableMustHave) {
  const std::u16string label(segment::kMaxLabelUnits, u'x');
  StatusCode code = StatusCode::kOk;
  for (uint32_t id = 1; code == StatusCode::kOk && id < 100; ++id) {
    code = a.Request(id, u"n", {.label = label}).status().code();
  }
  EXPECT_EQ(code, StatusCode::kSegmentFull);
}

}  // namespace
}  // namespace holdfast::test
