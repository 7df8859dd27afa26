#include "core/random_history.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

namespace holdfast::test {
namespace {

constexpr int kSteps = 100;
constexpr int kHistories = 2000;

// HOLDFAST_SEED=<number> plays one history again.
TEST(RandomHistory, GoesLikeTheReferenceModel) {
  if (const char* const text = std::getenv("HOLDFAST_SEED")) {
    const uint64_t seed = std::stoull(text);
    EXPECT_EQ(RandomHistory(seed).Run(kSteps), "") << "HOLDFAST_SEED=" << seed;
    return;
  }
  const uint64_t first = std::random_device{}();
  uint64_t takes = 0;
  std::cout << "seeds " << first << " to " << first + kHistories - 1 << std::endl;
  for (uint64_t seed = first; seed < first + kHistories; ++seed) {
    RandomHistory history(seed);
    ASSERT_EQ(history.Run(kSteps), "") << "HOLDFAST_SEED=" << seed;
    takes += history.takes();
  }
  std::cout << takes << " biased names taken" << std::endl;
  EXPECT_GT(takes, 0U);
}

}  // namespace
}  // namespace holdfast::test
