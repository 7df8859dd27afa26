// The shared state of a storm's director and its processes beside the log, and the storm's rules.
#ifndef HOLDFAST_TEST_STORM_STORM_CONTROL_H_
#define HOLDFAST_TEST_STORM_STORM_CONTROL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace holdfast::test {

inline constexpr uint32_t kStormProcesses = 8;
inline constexpr uint32_t kStormThreads = 2;  // of each process, an agent each
inline constexpr uint32_t kStormSeats = kStormProcesses * kStormThreads;

inline constexpr uint32_t kStormNames = 6;
// A steal or a hold limit weakens what can be said of a name: most have neither.
inline constexpr uint32_t kStolenName = 4;
inline constexpr uint32_t kExpiringName = 5;
inline std::u16string StormName(uint32_t number) {
  if (number == 1) return std::u16string(150, u'l');  // more than one cell
  return std::u16string(1, static_cast<char16_t>(u'a' + number));
}

// A seat for one agent, one after the other; in shared memory that is zeroed.
struct StormSeat {
  std::atomic<uint32_t> idle_in;  // the quiet round in which its agent had nothing left
};

struct StormControl {
  // Rising; odd: quiet. Nothing new is requested then, what is held is released, and waiting
  // requests keep waiting.
  std::atomic<uint32_t> round;
  std::array<std::atomic<uint32_t>, kStormProcesses> leaving;  // 1: the process is to end
  std::array<StormSeat, kStormSeats> seats;

  bool IsQuiet() const { return round.load() % 2 == 1; }
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_STORM_STORM_CONTROL_H_
