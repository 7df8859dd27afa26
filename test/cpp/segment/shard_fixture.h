// One shard with its first extent, without other users.
#ifndef HOLDFAST_TEST_SEGMENT_SHARD_FIXTURE_H_
#define HOLDFAST_TEST_SEGMENT_SHARD_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "segment/record_pool.h"
#include "segment/shard_view.h"
#include "support/fake_machine.h"

namespace holdfast::test {

class ShardTest : public testing::Test {
 protected:
  static constexpr uint32_t kClaim = segment::kExtentClaimed;

  explicit ShardTest(const segment::Geometry::Counts& counts = kSmallCounts) : machine(counts) {}

  void AddExtent(uint32_t extent) {
    machine.segment().extent_owner(extent).Set(kClaim);
    segment::RecordPool::Prepare(machine.segment(), extent);
    pool.AddExtent(extent, kClaim);
  }
  // A record with this state, in no list.
  segment::CellId TakeRequest(segment::CellState state = segment::CellState::kWaiting) {
    const segment::CellId id = pool.Allocate();
    segment::RequestCell& request = segment::AsRequest(*shard.CellAt(id));
    request.event_next.Set(segment::kNotLinked);
    request.agent.Set(0);
    request.state.Set(state);
    return id;
  }
  segment::RequestCell& At(segment::CellId id) {
    return segment::AsRequest(*machine.segment().CellByNumber(id - 1));
  }
  bool IsCorrupted() const { return shard.header().dirty.Get() != 0; }

  FakeMachine machine;
  segment::ShardView shard{machine.segment(), 0};
  segment::RecordPool pool{shard};
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SEGMENT_SHARD_FIXTURE_H_
