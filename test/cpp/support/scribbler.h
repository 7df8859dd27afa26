// Writes damage into a machine: anywhere, or where it hurts most.
#ifndef HOLDFAST_TEST_SUPPORT_SCRIBBLER_H_
#define HOLDFAST_TEST_SUPPORT_SCRIBBLER_H_

#include <cstdint>
#include <random>

#include "support/fake_machine.h"

namespace holdfast::test {

class Scribbler {
 public:
  Scribbler(FakeMachine& machine, uint64_t seed) : machine_(machine), random_(seed) {}

  // One place.
  void Scribble();
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

 private:
  void ScribbleBytes();
  void ScribbleLink();
  void ScribbleState();
  void ScribbleHead();
  void ScribbleCounter();
  void ScribbleExtentOwner();
  void ScribbleLockWord();
  void ScribbleAgent();
  void ScribbleName();
  void ScribbleExtras();

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

#endif  // HOLDFAST_TEST_SUPPORT_SCRIBBLER_H_
