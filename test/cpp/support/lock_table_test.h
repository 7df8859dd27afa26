// A fixture: three processes with four agents on one machine. After each test the invariants hold.
#ifndef HOLDFAST_TEST_SUPPORT_LOCK_TABLE_TEST_H_
#define HOLDFAST_TEST_SUPPORT_LOCK_TABLE_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "segment/invariants.h"
#include "segment/lock_word.h"
#include "support/fake_agent.h"
#include "support/fake_machine.h"
#include "support/reference_model.h"

namespace holdfast::test {

class LockTableTest : public testing::Test {
 protected:
  explicit LockTableTest(const segment::Geometry::Counts& counts = kSmallCounts)
      : machine(counts) {}

  void TearDown() override {
    EXPECT_THAT(segment::CheckInvariants(machine.segment()), testing::IsEmpty());
  }

  // Makes request number `last_id`; gives up the test when that fails.
  core::RequestReply Request(FakeAgent& agent, std::u16string_view name,
                             const Options& options = kExclusive) {
    const Result<core::RequestReply> reply = agent.Request(++last_id, name, options);
    EXPECT_TRUE(reply.ok()) << reply.status().reason();
    return reply.ok() ? *reply : core::RequestReply{};
  }
  core::RequestOutcome Outcome(FakeAgent& agent, std::u16string_view name,
                               const Options& options = kExclusive) {
    return Request(agent, name, options).outcome;
  }
  uint32_t IdOf(FakeAgent& agent, std::u16string_view name, const Options& options = kExclusive) {
    Request(agent, name, options);
    return last_id;
  }
  ReferenceModel Records() { return ReferenceModel::Read(machine.segment()); }
  bool IsHeld(uint32_t id) { return Records().IsHeld(id); }
  bool IsQueued(uint32_t id) { return Records().IsQueued(id); }
  // Acquires the lock of a shard for a process, which then stays inside.
  bool IsAcquired(segment::LockWord& word, segment::ProcessRef process) {
    platform::CriticalSectionMark mark;
    mark.Enter();
    return word.Acquire(process, mark, machine.host(), kShardTimeoutNs) ==
           segment::LockOutcome::kAcquired;
  }
  uint32_t UsedCells() const {
    uint32_t used = 0;
    for (uint32_t i = 0; i < machine.segment().geometry().shards; ++i) {
      used += machine.segment().shard(i).used_count.Get();
    }
    return used;
  }
  uint32_t FreeExtents() const {
    uint32_t free = 0;
    for (uint32_t i = 0; i < machine.segment().geometry().extents; ++i) {
      if (machine.segment().extent_owner(i).Get() == 0) ++free;
    }
    return free;
  }

  FakeMachine machine;
  segment::ProcessRef p = machine.Attach(0);
  segment::ProcessRef q = machine.Attach(1);
  segment::ProcessRef r = machine.Attach(2);
  FakeAgent a{machine, p, 0};
  FakeAgent a2{machine, p, 1};
  FakeAgent b{machine, q, 2};
  FakeAgent c{machine, r, 3};
  uint32_t last_id = 0;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_LOCK_TABLE_TEST_H_
