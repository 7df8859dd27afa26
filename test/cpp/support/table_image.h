// The bytes of a table, to see whether an operation left a trace.
#ifndef HOLDFAST_TEST_SUPPORT_TABLE_IMAGE_H_
#define HOLDFAST_TEST_SUPPORT_TABLE_IMAGE_H_

#include "support/fake_machine.h"

namespace holdfast::test {

// The whole image, except how often a process was inside.
inline FakeMachine::Image TakeTableImage(FakeMachine& machine) {
  for (uint32_t i = 0; i < machine.segment().geometry().shards; ++i) {
    machine.segment().shard(i).changes.Set(0);
  }
  return machine.TakeImage();
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_TABLE_IMAGE_H_
