// Runs something in a child process, and takes an image of some memory behind each machine
// instruction that writes to it.
//
// The memory is write-protected there: an instruction that writes faults, is then let through
// alone, in a single step, and is followed by the next image. An instruction without a write cannot
// change the state after a crash, and is not slowed down.
#ifndef HOLDFAST_TEST_CORE_SINGLE_STEPPER_H_
#define HOLDFAST_TEST_CORE_SINGLE_STEPPER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace holdfast::test {

struct Steps {
  std::vector<std::vector<std::byte>> images;  // the first is of before; no two in a row are equal
  uint64_t stores = 0;
  bool is_complete = false;
};

// Other processors than x86 have no flag for single steps.
bool CanStep();

// `memory` begins with a page. `body` runs in a copy of this process, whose memory is its own.
Steps StepThrough(std::span<std::byte> memory, const std::function<void()>& body);

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_CORE_SINGLE_STEPPER_H_
