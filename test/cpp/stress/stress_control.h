// The state that the director and the processes of a stress test share beside the log, and the
// rules of the test.
#ifndef HOLDFAST_TEST_STRESS_STRESS_CONTROL_H_
#define HOLDFAST_TEST_STRESS_STRESS_CONTROL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace holdfast::test {

inline constexpr uint32_t kStressProcesses = 8;
inline constexpr uint32_t kStressThreads = 2;  // of each process, an agent each
inline constexpr uint32_t kStressSeats = kStressProcesses * kStressThreads;

inline constexpr uint32_t kStressNames = 6;
// A steal or a hold limit weakens what can be said of a name: most have neither.
inline constexpr uint32_t kStolenName = 4;
inline constexpr uint32_t kExpiringName = 5;
inline std::u16string StressName(uint32_t number) {
  if (number == 1) return std::u16string(150, u'l');  // more than one cell
  return std::u16string(1, static_cast<char16_t>(u'a' + number));
}

// A seat for one agent, one after the other; in shared memory that is zeroed.
struct StressSeat {
  std::atomic<uint32_t> idle_in;  // the quiet round in which its agent had nothing left
};

struct StressControl {
  // Rising; odd: quiet. Nothing new is requested then, what is held is released, and waiting
  // requests keep waiting.
  std::atomic<uint32_t> round;
  std::array<std::atomic<uint32_t>, kStressProcesses> leaving;  // 1: the process is to end
  std::array<StressSeat, kStressSeats> seats;

  bool IsQuiet() const { return round.load() % 2 == 1; }
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STRESS_STRESS_CONTROL_H_
