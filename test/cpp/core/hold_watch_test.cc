#include "core/hold_watch.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

constexpr RecordRef kFirst{.cell = 1, .shard = 0, .ticket = 5};
constexpr RecordRef kSecond{.cell = 2, .shard = 1, .ticket = 5};

TEST(HoldWatch, HasNothingToDoAtFirst) { EXPECT_EQ(HoldWatch().NextDueNs(), HoldWatch::kNever); }

TEST(HoldWatch, GivesTheEarliest) {
  HoldWatch watch;
  watch.Add(kFirst, 200);
  watch.Add(kSecond, 100);
  EXPECT_EQ(watch.NextDueNs(), 100U);
  EXPECT_EQ(watch.First().record.cell, kSecond.cell);
}

TEST(HoldWatch, MovesWhatWasLookedAt) {
  HoldWatch watch;
  watch.Add(kFirst, 200);
  watch.Add(kSecond, 100);
  watch.Update(watch.First(), 300);
  EXPECT_EQ(watch.First().record.cell, kFirst.cell);
  watch.Update(watch.First(), 0);
  EXPECT_EQ(watch.NextDueNs(), 300U);
}

TEST(HoldWatch, BringsForwardWhatIsAddedAgain) {
  HoldWatch watch;
  watch.Add(kFirst, 200);
  watch.Add(kFirst, 300);
  EXPECT_EQ(watch.NextDueNs(), 200U);
  watch.Add(kFirst, 100);
  EXPECT_EQ(watch.NextDueNs(), 100U);
  watch.Update(watch.First(), 0);
  EXPECT_EQ(watch.NextDueNs(), HoldWatch::kNever);
}

TEST(HoldWatch, KeepsWhatALookRemembers) {
  HoldWatch watch;
  watch.Add(kFirst, 100);
  HoldWatch::Task task = watch.First();
  EXPECT_EQ(task.sightings.SinceNs(7, 150), 150U);
  watch.Update(task, 200);
  EXPECT_EQ(watch.First().sightings.SinceNs(7, 250), 150U);
}

TEST(HoldWatch, ForgetsWhatWasRemoved) {
  HoldWatch watch;
  watch.Add(kFirst, 100);
  watch.Remove(kFirst);
  EXPECT_EQ(watch.NextDueNs(), HoldWatch::kNever);
}

TEST(HoldWatch, DoesNotBringBackWhatWasRemovedDuringTheLook) {
  HoldWatch watch;
  watch.Add(kFirst, 100);
  const HoldWatch::Task task = watch.First();
  watch.Remove(kFirst);
  watch.Update(task, 200);
  EXPECT_EQ(watch.NextDueNs(), HoldWatch::kNever);
}

}  // namespace
}  // namespace holdfast::core
