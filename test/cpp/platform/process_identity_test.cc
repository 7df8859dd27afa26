#include "platform/process_identity.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "platform/child_process.h"

namespace holdfast {
namespace {

TEST(ProcessId, IsThatOfTheProcess) { EXPECT_EQ(ProcessId(), static_cast<uint32_t>(getpid())); }

TEST(ProcessId, IsAnotherInAForkedChild) {
  const uint32_t parent = ProcessId();
  EXPECT_EQ(ChildProcess::Run([&] { return ProcessId() != parent ? 0 : 1; }), 0);
}

TEST(PidNamespace, IsTheSameForParentAndChild) {
  const uint64_t mine = PidNamespace();
  ASSERT_NE(mine, 0U);
  EXPECT_EQ(ChildProcess::Run([&] { return PidNamespace() == mine ? 0 : 1; }), 0);
}

TEST(PidNamespace, DiffersBetweenNamespaces) {
  constexpr int kCannotUnshare = 77;
  const uint64_t mine = PidNamespace();
  const int result = ChildProcess::Run([&] {
    if (unshare(CLONE_NEWPID) == -1) return kCannotUnshare;
    return ChildProcess::Run([&] { return PidNamespace() != mine ? 0 : 1; });
  });
  if (result == kCannotUnshare) GTEST_SKIP() << "only root may make a PID namespace here";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace holdfast
