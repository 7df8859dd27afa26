// Corrupts a machine: anywhere, or where it hurts most.
#ifndef HOLDFAST_TEST_SUPPORT_CORRUPTION_FUZZER_H_
#define HOLDFAST_TEST_SUPPORT_CORRUPTION_FUZZER_H_

#include <cstdint>
#include <random>

#include "support/fake_machine.h"

namespace holdfast::test {

class CorruptionFuzzer {
 public:
  CorruptionFuzzer(FakeMachine& machine, uint64_t seed) : machine_(machine), random_(seed) {}

  // At one position.
  void CorruptOnce();
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

 private:
  void CorruptBytes();
  void CorruptLink();
  void CorruptState();
  void CorruptHead();
  void CorruptCounter();
  void CorruptExtentOwner();
  void CorruptLockWord();
  void CorruptAgent();
  void CorruptName();
  void CorruptExtras();

  segment::CellId AnyLink();
  segment::AnyCell& AnyCell() {
    return *segment().CellByNumber(Below(segment().geometry().cells()));
  }
  uint32_t AnyShard() { return Below(segment().geometry().shards); }
  segment::Segment& segment() const { return machine_.segment(); }

  FakeMachine& machine_;
  std::mt19937_64 random_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_CORRUPTION_FUZZER_H_
