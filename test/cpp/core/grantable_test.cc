#include "core/grantable.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

constexpr HeldCounts kNoHolders{};
constexpr HeldCounts kOneExclusive{.exclusive = 1, .shared = 0};
constexpr HeldCounts kTwoShared{.exclusive = 0, .shared = 2};

TEST(IsGrantable, RefusesARequestThatIsNotFirstInItsQueue) {
  EXPECT_FALSE(IsGrantable(LockMode::kExclusive, false, kNoHolders));
  EXPECT_FALSE(IsGrantable(LockMode::kShared, false, kNoHolders));
  EXPECT_FALSE(IsGrantable(LockMode::kShared, false, kTwoShared));
}

TEST(IsGrantable, GrantsTheFirstWhenNothingIsHeld) {
  EXPECT_TRUE(IsGrantable(LockMode::kExclusive, true, kNoHolders));
  EXPECT_TRUE(IsGrantable(LockMode::kShared, true, kNoHolders));
}

TEST(IsGrantable, RefusesEverythingBesideAnExclusiveHolder) {
  EXPECT_FALSE(IsGrantable(LockMode::kExclusive, true, kOneExclusive));
  EXPECT_FALSE(IsGrantable(LockMode::kShared, true, kOneExclusive));
}

TEST(IsGrantable, GrantsOnlySharedRequestsBesideSharedHolders) {
  EXPECT_TRUE(IsGrantable(LockMode::kShared, true, kTwoShared));
  EXPECT_FALSE(IsGrantable(LockMode::kExclusive, true, kTwoShared));
}

TEST(IsGrantable, CountsTheRequestItselfAtItsLimit) {
  EXPECT_FALSE(IsGrantable(LockMode::kShared, true, kTwoShared, 2));
  EXPECT_TRUE(IsGrantable(LockMode::kShared, true, kTwoShared, 3));
  EXPECT_TRUE(IsGrantable(LockMode::kShared, true, kNoHolders, 1));
}

TEST(IsGrantable, KnowsNoLimitOfExclusiveRequests) {
  EXPECT_TRUE(IsGrantable(LockMode::kExclusive, true, kNoHolders, 1));
  EXPECT_FALSE(IsGrantable(LockMode::kExclusive, true, kTwoShared, 5));
}

}  // namespace
}  // namespace holdfast::core
