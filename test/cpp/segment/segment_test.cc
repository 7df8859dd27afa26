#include "segment/segment.h"

#include <gtest/gtest.h>

#include <thread>

#include "segment/lock_word.h"
#include "support/fake_machine.h"

namespace holdfast::test {
namespace {

using segment::Segment;
using segment::SegmentHeader;

StatusCode HeaderOf(const FakeMachine& machine) { return machine.segment().CheckHeader().code(); }

TEST(SegmentHeaderCheck, TakesWhatWasInitialised) {
  EXPECT_EQ(HeaderOf(FakeMachine()), StatusCode::kOk);
}

TEST(SegmentHeaderCheck, RefusesAFileThatIsNoSegment) {
  FakeMachine machine;
  machine.segment().header().magic.Set(0);
  EXPECT_EQ(HeaderOf(machine), StatusCode::kSegmentBroken);
}

TEST(SegmentHeaderCheck, RefusesAnotherVersionOfTheLayout) {
  FakeMachine machine;
  machine.segment().header().layout_version.Set(segment::kLayoutVersion + 1);
  EXPECT_EQ(HeaderOf(machine), StatusCode::kVersionMismatch);
}

TEST(SegmentHeaderCheck, RefusesOtherSizesOfEachStruct) {
  const auto sizes = {&SegmentHeader::cell_bytes, &SegmentHeader::shard_bytes,
                      &SegmentHeader::process_bytes, &SegmentHeader::agent_bytes,
                      &SegmentHeader::extent_bytes};
  for (const auto size : sizes) {
    FakeMachine machine;
    auto& field = machine.segment().header().*size;
    field.Set(field.Get() + 8);
    EXPECT_EQ(HeaderOf(machine), StatusCode::kSegmentBroken);
  }
}

TEST(SegmentHeaderCheck, RefusesAnotherCapacityThanThatOfTheFile) {
  FakeMachine machine;
  machine.segment().header().capacity.Set(1 << 20);
  EXPECT_EQ(HeaderOf(machine), StatusCode::kSegmentBroken);
}

// The names of files have it.
TEST(SegmentId, IsTheSameThoughOneOfItsThreeCopiesIsCorrupted) {
  FakeMachine machine;
  Segment segment = machine.segment();
  const uint64_t id = segment.Id();
  SegmentHeader& header = segment.header();
  for (segment::Shared<uint64_t>* const word :
       {&header.segment_id, &header.segment_id_copies[0], &header.segment_id_copies[1]}) {
    word->Set(id + 7);
    EXPECT_EQ(segment.Id(), id);
    word->Set(id);
  }
}

TEST(SegmentBoot, MarksEveryShardForRepairAfterAReboot) {
  FakeMachine machine;
  Segment segment = machine.segment();
  segment.AdoptBoot(platform::BootId{8});
  EXPECT_EQ(segment.shard(0).dirty.Get(), 1U);
  EXPECT_EQ(segment.shard(1).dirty.Get(), 1U);
}

TEST(SegmentBoot, ChangesNothingInTheSameBoot) {
  FakeMachine machine;
  const FakeMachine::Image before = machine.TakeImage();
  Segment segment = machine.segment();
  segment.AdoptBoot(kBoot);
  EXPECT_TRUE(machine.TakeImage() == before);
}

TEST(SegmentCells, AreOnlyThoseOfTheGivenShard) {
  FakeMachine machine;
  machine.segment().extent_owner(1).Set(2);  // shard 1
  EXPECT_EQ(machine.segment().CellAt(0, 9), nullptr);
  EXPECT_NE(machine.segment().CellAt(1, 9), nullptr);
  EXPECT_EQ(machine.segment().ShardOfCell(9), 1U);
}

TEST(SegmentCells, AreNoneForIdsOutOfRange) {
  FakeMachine machine;
  for (uint32_t extent = 0; extent < 6; ++extent) machine.segment().extent_owner(extent).Set(1);
  for (const segment::CellId id : {0U, 49U, 0xFFFFFFFFU, 0x80000001U}) {
    EXPECT_EQ(machine.segment().CellAt(0, id), nullptr);
    EXPECT_EQ(machine.segment().ShardOfCell(id), 2U);
  }
}

TEST(SegmentCells, BelongToNoShardWhenTheOwnerIsNone) {
  FakeMachine machine;
  for (const uint32_t owner : {0U, 3U, segment::kExtentClaimed | 1}) {
    machine.segment().extent_owner(0).Set(owner);
    EXPECT_EQ(machine.segment().ShardOfCell(1), 2U);
  }
}

TEST(SegmentAgents, AreNoneWhenTheEntryIsFreeOrNamesASlotThatCannotBe) {
  FakeMachine machine;
  EXPECT_EQ(machine.segment().AgentAt(0).generation, 0U);
  machine.segment().agent(0).generation.Set(1);
  machine.segment().agent(0).owner.Set(segment::ProcessRef{99, 1}.ToWord());
  EXPECT_EQ(machine.segment().AgentAt(0).generation, 0U);
}

// Process after process takes the entry, each with the generation of its number; the reader may
// find a claim half made, but never an owner with the generation of its successor.
TEST(SegmentAgents, AreNeverMixedFromTwoBearers) {
  constexpr uint32_t kBearers = 2'000'000;
  FakeMachine machine;
  segment::AgentEntry& entry = machine.segment().agent(0);
  std::thread bearers([&entry] {
    for (uint32_t i = 1; i <= kBearers; ++i) {
      entry.owner.Exchange(segment::ProcessRef{0, i}.ToWord());
      entry.generation.Publish(i);
      entry.owner.Exchange(0);
    }
  });
  uint32_t mixed = 0;
  for (uint32_t seen = 0; seen < kBearers;) {
    const segment::AgentRef agent = machine.segment().AgentAt(0);
    if (agent.generation > agent.process.generation) ++mixed;
    seen = entry.generation.Acquire();
  }
  bearers.join();
  EXPECT_EQ(mixed, 0U);
}

// Between the two loads the entry gets its next bearer.
TEST(SegmentAgents, AreOfOneBearerWhenTheEntryChangesHandsMeanwhile) {
  struct Change {
    FakeMachine machine;
    segment::ProcessRef old = machine.Attach(0);
    segment::ProcessRef next = machine.Attach(1);
    segment::AgentRef agent = machine.AddAgent(old, 0);
    bool is_made = false;
  } change;
  segment::store_observer = {nullptr, &change, [](void* context) {
                               auto& self = *static_cast<Change*>(context);
                               if (self.is_made) return;
                               self.is_made = true;
                               self.agent = self.machine.AddAgent(self.next, 0);
                             }};
  const segment::AgentRef read = change.machine.segment().AgentAt(0);
  segment::store_observer = {};
  EXPECT_EQ(read, change.agent);
}

TEST(ProcessRef, ComesBackFromItsShortWordWhileItIsTheNewestOfItsSlot) {
  FakeMachine machine;
  const segment::ProcessRef process = machine.Attach(3);
  EXPECT_EQ(machine.segment().FromShortWord(process.ToShortWord()), process);
  machine.Attach(3);
  EXPECT_EQ(machine.segment().FromShortWord(process.ToShortWord()).generation, 0U);
  EXPECT_EQ(machine.segment().FromShortWord(0).generation, 0U);
  EXPECT_EQ(machine.segment().FromShortWord(segment::ProcessRef{99, 1}.ToShortWord()).generation,
            0U);
}

TEST(ProcessRef, ComesBackFromItsWord) {
  const segment::ProcessRef process{1023, 0xFFFFFFFF};
  EXPECT_EQ(segment::ProcessRef::FromWord(process.ToWord()), process);
  EXPECT_EQ(segment::ProcessRef::FromWord(0).generation, 0U);
  EXPECT_EQ(segment::ProcessRef().ToWord(), 0U);
}

TEST(Segment, ReadsTheKeyOfItsNamesThoughOneCopyIsCorrupted) {
  test::FakeMachine machine;
  machine.segment().Initialize(test::kBoot, test::kFirstToken, {{1, 2}});
  for (auto& copy : machine.segment().header().name_key) {
    for (segment::Shared<uint64_t>& word : copy) {
      const uint64_t whole = word.Get();
      word.Set(77);
      const Segment segment(machine.bytes(), machine.segment().geometry());
      EXPECT_EQ(segment.name_key().words[0], 1U);
      EXPECT_EQ(segment.name_key().words[1], 2U);
      word.Set(whole);
    }
  }
}

}  // namespace
}  // namespace holdfast::test
