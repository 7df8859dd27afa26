// The owner of a record: a process or an agent. An owner is always named with its generation, so
// that a reference to a dead owner never means a later one (invariant I8).
#ifndef HOLDFAST_SEGMENT_OWNER_H_
#define HOLDFAST_SEGMENT_OWNER_H_

#include <cstdint>

namespace holdfast::segment {

struct ProcessRef {
  uint16_t slot = 0;
  uint32_t generation = 0;  // 0: none

  // As one word; 0 means no owner.
  uint64_t ToWord() const { return generation == 0 ? 0 : (uint64_t{slot} + 1) << 32 | generation; }
  static ProcessRef FromWord(uint64_t word) {
    if (word == 0) return {};
    return {static_cast<uint16_t>((word >> 32) - 1), static_cast<uint32_t>(word)};
  }
  // In 31 bits, for a word with one more flag: the generation is cut to its low 20 bits.
  // Segment::FromShortWord reads it.
  uint32_t ToShortWord() const { return (generation & kShortGeneration) << 11 | (slot + 1U); }
  static constexpr uint32_t kShortSlot = (1U << 11) - 1;
  static constexpr uint32_t kShortGeneration = (1U << 20) - 1;

  friend bool operator==(const ProcessRef&, const ProcessRef&) = default;
};

struct AgentRef {
  uint16_t index = 0;
  uint32_t generation = 0;
  ProcessRef process;

  friend bool operator==(const AgentRef&, const AgentRef&) = default;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_OWNER_H_
