#include <gtest/gtest.h>

#include "core/hold_limits.h"

namespace holdfast::core {
namespace {

constexpr RecordRef kFirst{.cell = 1, .shard = 0, .ticket = 5};
constexpr RecordRef kSecond{.cell = 2, .shard = 1, .ticket = 5};

TEST(HoldLimitTimers, HasNothingToDoAtFirst) {
  EXPECT_EQ(HoldLimitTimers().NextDueNs(), HoldLimitTimers::kNever);
}

TEST(HoldLimitTimers, GivesTheEarliest) {
  HoldLimitTimers watch;
  watch.Add(kFirst, 200);
  watch.Add(kSecond, 100);
  EXPECT_EQ(watch.NextDueNs(), 100U);
  EXPECT_EQ(watch.First().record.cell, kSecond.cell);
}

TEST(HoldLimitTimers, MovesTheCheckedEntries) {
  HoldLimitTimers watch;
  watch.Add(kFirst, 200);
  watch.Add(kSecond, 100);
  watch.Update(watch.First(), 300);
  EXPECT_EQ(watch.First().record.cell, kFirst.cell);
  watch.Update(watch.First(), 0);
  EXPECT_EQ(watch.NextDueNs(), 300U);
}

TEST(HoldLimitTimers, BringsForwardWhatIsAddedAgain) {
  HoldLimitTimers watch;
  watch.Add(kFirst, 200);
  watch.Add(kFirst, 300);
  EXPECT_EQ(watch.NextDueNs(), 200U);
  watch.Add(kFirst, 100);
  EXPECT_EQ(watch.NextDueNs(), 100U);
  watch.Update(watch.First(), 0);
  EXPECT_EQ(watch.NextDueNs(), HoldLimitTimers::kNever);
}

TEST(HoldLimitTimers, KeepsTheEntriesOfACheck) {
  HoldLimitTimers watch;
  watch.Add(kFirst, 100);
  HoldLimitTimers::Task task = watch.First();
  EXPECT_EQ(task.first_seen.SinceNs(7, 150), 150U);
  watch.Update(task, 200);
  EXPECT_EQ(watch.First().first_seen.SinceNs(7, 250), 150U);
}

TEST(HoldLimitTimers, ForgetsWhatWasRemoved) {
  HoldLimitTimers watch;
  watch.Add(kFirst, 100);
  watch.Remove(kFirst);
  EXPECT_EQ(watch.NextDueNs(), HoldLimitTimers::kNever);
}

TEST(HoldLimitTimers, DoesNotRestoreEntriesThatWereRemovedDuringTheCheck) {
  HoldLimitTimers watch;
  watch.Add(kFirst, 100);
  const HoldLimitTimers::Task task = watch.First();
  watch.Remove(kFirst);
  watch.Update(task, 200);
  EXPECT_EQ(watch.NextDueNs(), HoldLimitTimers::kNever);
}

}  // namespace
}  // namespace holdfast::core
