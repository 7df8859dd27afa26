// Reads the log of a stress test and finds what must not be in it. Knows nothing of the lock table.
#ifndef HOLDFAST_TEST_STRESS_STRESS_CHECKER_H_
#define HOLDFAST_TEST_STRESS_STRESS_CHECKER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stress/stress_log.h"

namespace holdfast::test {

class StressChecker {
 public:
  // In the order of the log.
  void Read(StressEvent event, const StressEntry& entry);
  // All requests of the living have ended: what could only be judged now.
  void FinishRound();

  const std::vector<std::string>& violations() const { return violations_; }
  uint64_t grants() const { return grants_; }
  // Two inside because of a steal, or of a hold limit: so that a run without any is noticed.
  uint64_t steals() const { return steals_; }
  uint64_t expiries() const { return expiries_; }
  uint64_t overtakes() const { return overtakes_; }
  uint64_t newest_token() const { return newest_token_; }

 private:
  // Inside together: so many of the older ones (by token) must have been robbed that fewer than
  // `too_many` are left.
  struct Overlap {
    std::vector<StressEntry> older;
    StressEntry newer;
    size_t too_many = 1;
  };
  struct Name {
    std::map<uint64_t, StressEntry> inside;       // by token
    std::map<uint64_t, StressEntry> queued;       // all but the stealers, by ticket
    std::set<uint64_t> steal_tokens;              // their tokens
    std::map<uint32_t, uint32_t> pending_steals;  // by agent: how many are without an answer
    std::vector<Overlap> overlaps;
  };

  void Enter(Name& name, const StressEntry& entry);
  void Leave(Name& name, const StressEntry& entry);
  void Die(uint32_t process);
  void CheckInside(Name& name, const StressEntry& entry);
  static bool Excludes(const StressEntry& older, const StressEntry& newer);
  static bool IsOver(const StressEntry& older, const StressEntry& newer);
  static bool WasStolen(const Name& name, const StressEntry& older, const StressEntry& newer);
  void Judge(const Name& name, Overlap& overlap);
  void JudgeOrder(const Name& name);
  void Violate(const char* what, const StressEntry& entry, const StressEntry& other);

  std::map<uint32_t, Name> names_;
  std::set<uint32_t> dead_;
  std::set<uint64_t> tokens_;   // of this round
  uint64_t newest_before_ = 0;  // the newest token of earlier rounds
  uint64_t newest_token_ = 0;
  uint64_t grants_ = 0;
  uint64_t steals_ = 0;
  uint64_t expiries_ = 0;
  uint64_t overtakes_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STRESS_STRESS_CHECKER_H_
