// The priorities of waiting requests, with their numbers in the segment, and the word with the
// position of a request in its queue. Names: Prioritized Task Scheduling, TaskPriority
// (#sec-task-priorities).
#ifndef HOLDFAST_SEGMENT_PRIORITY_H_
#define HOLDFAST_SEGMENT_PRIORITY_H_

#include <cstdint>

namespace holdfast {

enum class Priority : uint8_t { kBackground = 0, kUserVisible = 1, kUserBlocking = 2 };

// A corrupted number is the default.
constexpr Priority ToPriority(uint32_t value) {
  return value == 0 ? Priority::kBackground
                    : (value == 2 ? Priority::kUserBlocking : Priority::kUserVisible);
}

namespace segment {

// A request that so many younger ones with a higher priority have passed is passed by no other.
inline constexpr uint32_t kMaxOvertakes = 16;

// RequestCell::queue_position, one word: a death leaves all parts of it, or none.
struct QueuePosition {
  uint64_t order = 0;      // queues are in this order; from the same counter as tickets
  uint32_t overtakes = 0;  // younger requests that have passed it
  Priority priority = Priority::kUserVisible;

  static constexpr uint32_t kOrderBit = 8;
  static constexpr uint32_t kOvertakesBit = 2;

  static constexpr QueuePosition FromWord(uint64_t word) {
    return {word >> kOrderBit, static_cast<uint32_t>(word >> kOvertakesBit & 0x3F),
            ToPriority(static_cast<uint32_t>(word & 3))};
  }
  constexpr uint64_t ToWord() const {
    return order << kOrderBit | uint64_t{overtakes} << kOvertakesBit |
           static_cast<uint64_t>(priority);
  }
};

}  // namespace segment
}  // namespace holdfast

#endif  // HOLDFAST_SEGMENT_PRIORITY_H_
