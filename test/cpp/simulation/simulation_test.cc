#include "simulation/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>

namespace holdfast::test {
namespace {

constexpr uint64_t kSimulations = 10'000;

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

// HOLDFAST_SIMULATIONS=<count> runs more of them, HOLDFAST_SEED=<number> one again.
TEST(Simulation, KeepsEveryPromiseWhicheverProcessDies) {
  const bool is_replay = std::getenv("HOLDFAST_SEED") != nullptr;
  const uint64_t first = NumberFrom("HOLDFAST_SEED", std::random_device{}());
  const uint64_t count = is_replay ? 1 : NumberFrom("HOLDFAST_SIMULATIONS", kSimulations);
  std::cout << "seeds " << first << " to " << first + count - 1 << std::endl;
  uint64_t grants = 0;
  uint64_t takes = 0;
  uint64_t kills = 0;
  uint64_t events = 0;
  uint64_t corruptions = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    auto simulation = std::make_unique<Simulation>(seed);
    const std::string fault = simulation->Run();
    // A faulty run may keep its threads from ever ending: it is left as it is.
    if (!fault.empty()) (void)simulation.release();
    ASSERT_EQ(fault, "") << "HOLDFAST_SEED=" << seed;
    grants += simulation->grants();
    takes += simulation->takes();
    kills += simulation->kills();
    events += simulation->events();
    corruptions += simulation->corruptions();
  }
  std::cout << grants << " grants, " << takes << " of biased names, " << kills << " kills, "
            << events << " watched events, " << corruptions << " corrupted locks" << std::endl;
}

}  // namespace
}  // namespace holdfast::test
