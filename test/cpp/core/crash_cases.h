// The kinds of operation in which a process dies, each with what was there before.
#ifndef HOLDFAST_TEST_CORE_CRASH_CASES_H_
#define HOLDFAST_TEST_CORE_CRASH_CASES_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "support/crash_scene.h"

namespace holdfast::test {

// Takes several cells.
inline const std::u16string kLong(200, u'l');

struct CrashCase {
  std::string name;
  std::function<void(CrashScene&)> prepare;
  std::function<void(CrashScene&)> operate;  // by the doomed process
  bool ghost_is_dead = false;
  bool is_of_biased = false;  // of a record that is biased: there is none while a process watches
};

std::vector<CrashCase> CrashCases();

// The other content of the segment during the operation.
inline constexpr uint32_t kSituations = 5;
inline constexpr uint32_t kWatched = 4;  // from the beginning, by a survivor
const char* NameOfSituation(uint32_t situation);
// All that is before the operation.
void Arrange(CrashScene& scene, const CrashCase& crash_case, uint32_t situation);

void PrintTo(const CrashCase& crash_case, std::ostream* stream);

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_CORE_CRASH_CASES_H_
