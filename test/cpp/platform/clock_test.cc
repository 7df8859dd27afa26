#include "platform/clock.h"

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "platform/child_process.h"

namespace holdfast {
namespace {

TEST(MonotonicNs, NeverGoesBack) {
  uint64_t last = MonotonicNs();
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t now = MonotonicNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(MonotonicNs, CountsNanoseconds) {
  const uint64_t start = MonotonicNs();
  const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_GE(MonotonicNs() - start, 20'000'000U);
}

TEST(RealtimeNs, LiesBetweenTwoReadingsOfTheSystem) {
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_REALTIME, &before);
  const uint64_t now = RealtimeNs();
  clock_gettime(CLOCK_REALTIME, &after);
  EXPECT_GE(now / 1'000'000'000, static_cast<uint64_t>(before.tv_sec));
  EXPECT_LE(now / 1'000'000'000, static_cast<uint64_t>(after.tv_sec));
}

uint64_t CoarseMsOfTheSystem() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME_COARSE, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000 +
         static_cast<uint64_t>(time.tv_nsec) / 1'000'000;
}

TEST(CoarseRealtimeMs, LiesBetweenTwoReadingsOfTheSystem) {
  const uint64_t before = CoarseMsOfTheSystem();
  const uint64_t now = CoarseRealtimeMs();
  EXPECT_GE(now, before);
  EXPECT_LE(now, CoarseMsOfTheSystem());
}

TEST(MonotonicClockId, IsTheSameForParentAndChild) {
  const uint32_t mine = MonotonicClockId();
  ASSERT_NE(mine, 0U);
  EXPECT_EQ(ChildProcess::Run([&] { return MonotonicClockId() == mine ? 0 : 1; }), 0);
}

TEST(MonotonicClockId, DiffersBetweenTimeNamespaces) {
  constexpr int kCannotUnshare = 77;
  const uint32_t mine = MonotonicClockId();
  const int result = ChildProcess::Run([&] {
    if (unshare(CLONE_NEWTIME) == -1) return kCannotUnshare;
    return ChildProcess::Run([&] { return MonotonicClockId() != mine ? 0 : 1; });
  });
  if (result == kCannotUnshare) GTEST_SKIP() << "only root may make a time namespace here";
  EXPECT_EQ(result, 0);
}

TEST(ReadBootId, IsTheKernelsUuid) {
  std::string expected;
  if (!(std::ifstream("/proc/sys/kernel/random/boot_id") >> expected)) {
    GTEST_SKIP() << "the kernel's procfs is not to be seen";
  }
  const Result<BootId> id = ReadBootId();
  ASSERT_TRUE(id.ok());
  std::string text;
  for (size_t i = 0; i < id->size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", (*id)[i]);
    text += digits;
  }
  EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace holdfast
