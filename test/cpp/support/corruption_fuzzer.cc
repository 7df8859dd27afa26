#include "support/corruption_fuzzer.h"

#include "segment/biased_record.h"
#include "segment/lock_word.h"

namespace holdfast::test {

using segment::AsName;
using segment::AsRequest;
using segment::AsText;
using segment::CellId;
using segment::CellState;

void CorruptionFuzzer::CorruptOnce() {
  switch (Below(14)) {
    case 0:
    case 1:
      return CorruptBytes();
    case 2:
    case 3:
      return CorruptLink();
    case 4:
      return CorruptState();
    case 5:
      return CorruptHead();
    case 6:
      return CorruptCounter();
    case 7:
      return CorruptExtentOwner();
    case 8:
      return CorruptLockWord();
    case 9:
      return CorruptAgent();
    case 10:
    case 11:
      return CorruptExtras();
    default:
      return CorruptName();
  }
}

// Mostly plausible, so that the corruption goes deep.
CellId CorruptionFuzzer::AnyLink() {
  switch (Below(6)) {
    case 0:
      return segment::kNoCell;
    case 1:
      return segment::kEventEnd;
    case 2:
      return static_cast<CellId>(random_());
    case 3:
      return segment().geometry().cells() + Below(2);
    default:
      return 1 + Below(segment().geometry().cells());
  }
}

// Not the lock words: see CorruptLockWord.
void CorruptionFuzzer::CorruptBytes() {
  const uint64_t from = segment().geometry().agents_at;
  const uint64_t size = segment().geometry().capacity - from;
  const uint32_t length = 1 + Below(16);
  const bool is_fill = Below(2) == 0;
  const auto fill = static_cast<std::byte>(Below(2) == 0 ? 0x00 : 0xFF);
  for (uint32_t i = 0; i < length; ++i) {
    machine_.bytes()[from + random_() % size] = is_fill ? fill : static_cast<std::byte>(random_());
  }
}

void CorruptionFuzzer::CorruptLink() {
  segment::AnyCell& cell = AnyCell();
  switch (Below(8)) {
    case 0:
      return AsRequest(cell).next.Set(AnyLink());
    case 1:
      return AsRequest(cell).previous.Set(AnyLink());
    case 2:
      return AsRequest(cell).agent_next.Set(AnyLink());
    case 3:
      return AsRequest(cell).agent_previous.Set(AnyLink());
    case 4:
      return AsRequest(cell).event_next.Set(AnyLink());
    case 5:
      return AsRequest(cell).name.Set(AnyLink());
    case 6:
      return AsName(cell).hash_next.Set(AnyLink());
    default:
      return AsText(cell).following.Set(AnyLink());
  }
}

void CorruptionFuzzer::CorruptState() {
  constexpr CellState kStates[] = {CellState::kFree,     CellState::kWaiting, CellState::kHeld,
                                   CellState::kStealing, CellState::kStolen,  CellState::kZombie,
                                   CellState::kName,     CellState::kText,    CellState::kExpired,
                                   CellState::kRevoked};
  segment::AnyCell& cell = AnyCell();
  // The open states fit the record by its ticket.
  const uint64_t ticket = AsRequest(cell).ticket.Get();
  switch (const uint32_t which = Below(12)) {
    case 10:
      return cell.state.Set(segment::BiasedFreeState(ticket));
    case 11:
      return cell.state.Set(segment::BiasedHeldState(ticket));
    default:
      return cell.state.Set(kStates[which]);
  }
}

void CorruptionFuzzer::CorruptHead() {
  switch (Below(4)) {
    case 0:
      return segment().shard(AnyShard()).free_head.Set(AnyLink());
    case 1:
      return segment().bucket(AnyShard(), random_()).Set(AnyLink());
    case 2:
      return segment().agent_list(Below(segment().geometry().agents), AnyShard()).Set(AnyLink());
    default:
      return AsName(AnyCell()).queue_head.Set(AnyLink());
  }
}

void CorruptionFuzzer::CorruptCounter() {
  segment::ShardHeader& shard = segment().shard(AnyShard());
  const auto value = static_cast<uint32_t>(Below(3) == 0 ? random_() : Below(64));
  switch (Below(4)) {
    case 0:
      return shard.free_count.Set(value);
    case 1:
      return shard.used_count.Set(value);
    case 2:
      return shard.last_ticket.Set(Below(2) == 0 ? ~uint64_t{0} : Below(8));
    default:
      return AsRequest(AnyCell()).ticket.Set(Below(2) == 0 ? ~uint64_t{0} : Below(8));
  }
}

void CorruptionFuzzer::CorruptExtentOwner() {
  const uint32_t shards = segment().geometry().shards;
  const uint32_t value = Below(4) == 0   ? segment::kExtentClaimed | Below(8)
                         : Below(8) == 0 ? static_cast<uint32_t>(random_())
                                         : Below(shards + 2);
  segment().extent_owner(Below(segment().geometry().extents)).Set(value);
}

// A word that names a living process is corruption that only that process can see. It is not rung
// here.
void CorruptionFuzzer::CorruptLockWord() {
  const uint32_t shard = AnyShard();
  segment().shard(shard).lock_word.Set(static_cast<uint32_t>(random_()));
  const segment::ProcessRef owner = segment::LockWord(segment(), shard).Owner();
  if (machine_.host().IsAlive(owner)) {
    segment::DisownShards(segment(), owner, machine_.host());
  }
}

void CorruptionFuzzer::CorruptAgent() {
  segment::AgentEntry& agent = segment().agent(Below(segment().geometry().agents));
  switch (Below(4)) {
    case 0:
      return agent.event_head.Set(AnyLink());
    case 1:
      return agent.sleeping.Set(static_cast<uint32_t>(random_()));
    case 2:
      return agent.owner.Set(random_());
    default:
      return AsRequest(AnyCell()).agent.Set(static_cast<uint16_t>(random_()));
  }
}

void CorruptionFuzzer::CorruptExtras() {
  segment::RequestCell& request = AsRequest(AnyCell());
  switch (Below(8)) {
    case 0:
      return request.limit.Set(Below(4));
    case 1:
      return request.hold_limit_ns.Set(Below(2) == 0 ? random_() : Below(5));
    case 2:
      return request.granted_ns.Set(random_());
    case 3:
      return request.label.Set(AnyLink());
    case 4:
      return request.label_length.Set(static_cast<uint8_t>(Below(256)));
    case 5:
      return AsText(AnyCell()).owner.Set(AnyLink());
    case 6:
      return request.queue_position.Set(Below(2) == 0 ? random_() : Below(4096));
    default:
      return AsName(AnyCell()).hold_limited.Set(Below(3));
  }
}

void CorruptionFuzzer::CorruptName() {
  segment::NameCell& name = AsName(AnyCell());
  switch (Below(4)) {
    case 0:
      return name.length.Set(Below(2) == 0 ? 0xFFFFFFFF - Below(64) : Below(200));
    case 1:
      return name.text.Set(AnyLink());
    case 2:
      return name.hash.Set(random_());
    default:
      return name.units[Below(segment::kNameCellUnits)].Set(static_cast<uint16_t>(random_()));
  }
}

}  // namespace holdfast::test
