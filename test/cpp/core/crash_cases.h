// The kinds of operation in which a process dies, each with what was there before.
#ifndef HOLDFAST_TEST_CORE_CRASH_CASES_H_
#define HOLDFAST_TEST_CORE_CRASH_CASES_H_

#include <functional>
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
};

std::vector<CrashCase> CrashCases();

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_CORE_CRASH_CASES_H_
