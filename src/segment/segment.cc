#include "segment/segment.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace holdfast::segment {
namespace {

struct BootIdHalves {
  uint64_t halves[2];
};

BootIdHalves ToHalves(const platform::BootId& boot_id) {
  BootIdHalves result{};
  static_assert(sizeof(result.halves) == sizeof(boot_id));
  std::memcpy(result.halves, boot_id.data(), sizeof(result.halves));
  return result;
}

}  // namespace

[[gnu::cold]] Segment::Segment(void* base, const Geometry& geometry)
    : base_(static_cast<unsigned char*>(base)),
      geometry_(geometry),
      name_key_(ReadNameKey()),
      extent_shift_(static_cast<uint32_t>(std::countr_zero(geometry.cells_per_extent))) {}

// Two copies that agree are right.
[[gnu::cold]] NameKey Segment::ReadNameKey() const {
  NameKey key;
  for (size_t i = 0; i < std::size(key.words); ++i) {
    const auto word = [&](size_t copy) { return header().name_key[copy][i].Get(); };
    key.words[i] = word(1) == word(2) ? word(1) : word(0);
  }
  return key;
}

[[gnu::cold]] void Segment::Initialize(const platform::BootId& boot_id, uint64_t first_token,
                                       const NameKey& key) {
  SegmentHeader& h = header();
  name_key_ = key;
  for (auto& copy : h.name_key) {
    for (size_t i = 0; i < std::size(key.words); ++i) copy[i].Set(key.words[i]);
  }
  h.layout_version.Set(kLayoutVersion);
  h.cell_bytes.Set(kCellBytes);
  h.shard_bytes.Set(sizeof(ShardHeader));
  h.process_bytes.Set(sizeof(ProcessEntry));
  h.agent_bytes.Set(sizeof(AgentEntry));
  h.extent_bytes.Set(geometry_.extent_bytes);
  h.capacity.Set(geometry_.capacity);
  h.boot_id[0].Set(ToHalves(boot_id).halves[0]);
  h.boot_id[1].Set(ToHalves(boot_id).halves[1]);
  h.last_token.Set(std::clamp(first_token, kFirstToken, kTokenLimit - 1));
  for (Shared<uint64_t>* const id :
       {&h.segment_id, &h.segment_id_copies[0], &h.segment_id_copies[1]}) {
    id->Set(first_token);  // the time of creation
  }
  h.magic.Publish(kMagic);
}

[[gnu::cold]] Status Segment::CheckLayout(const SegmentHeader& header) {
  if (header.magic.Acquire() != kMagic) {
    return Status(StatusCode::kSegmentBroken, "the file is not a holdfast segment; remove it");
  }
  if (header.layout_version.Get() == kLayoutVersion) return Status();
  return Status(StatusCode::kVersionMismatch,
                "the segment was made by another version of holdfast, and processes use it; stop "
                "them, then the next process replaces it");
}

[[gnu::cold]] Status Segment::CheckHeader() const {
  const SegmentHeader& h = header();
  const Status layout = CheckLayout(h);
  if (!layout.ok()) return layout;
  const bool same =
      h.cell_bytes.Get() == kCellBytes && h.shard_bytes.Get() == sizeof(ShardHeader) &&
      h.process_bytes.Get() == sizeof(ProcessEntry) && h.agent_bytes.Get() == sizeof(AgentEntry) &&
      h.extent_bytes.Get() == geometry_.extent_bytes && h.capacity.Get() == geometry_.capacity;
  if (same) return Status();
  return Status(StatusCode::kSegmentBroken,
                "the sizes in the segment's header are wrong; remove it");
}

[[gnu::cold]] void Segment::AdoptBoot(const platform::BootId& boot_id) {
  const BootIdHalves now = ToHalves(boot_id);
  SegmentHeader& h = header();
  if (h.boot_id[0].Get() == now.halves[0] && h.boot_id[1].Get() == now.halves[1]) return;
  // Two processes may do this at once: repairing twice does no harm.
  for (uint32_t i = 0; i < geometry_.shards; ++i) shard(i).dirty.Set(1);
  h.boot_id[0].Set(now.halves[0]);
  h.boot_id[1].Publish(now.halves[1]);
}

uint32_t Segment::ShardOfCell(CellId id) const {
  const uint32_t extent = (id - 1) >> extent_shift_;
  if (extent >= geometry_.extents) return geometry_.shards;
  const uint32_t owner = extent_owner(extent).Get();
  if (owner == 0 || owner > geometry_.shards) return geometry_.shards;
  return IsExtentOf(owner - 1, extent) ? owner - 1 : geometry_.shards;
}

// The word has the low bits of the generation: the full one is the slot's newest, if they agree.
ProcessRef Segment::FromShortWord(uint32_t word) const {
  const uint32_t slot = (word & ProcessRef::kShortSlot) - 1;
  if ((word & ProcessRef::kShortSlot) == 0 || slot >= geometry_.processes) return {};
  const uint32_t newest = process(slot).generation.Acquire();
  const ProcessRef named{static_cast<uint16_t>(slot), newest};
  return named.ToShortWord() == word ? named : ProcessRef{};
}

// Both words must be of one agent. The entry may get a new agent at any time; pairing the dead
// owner with its successor's generation would end the successor's locks. An owner never returns, so
// a generation that is read between two reads of the same owner belongs to that owner.
AgentRef Segment::AgentAt(uint32_t index) const {
  const AgentEntry& entry = agent(index);
  for (;;) {
    const uint64_t owner = entry.owner.Acquire();
    const uint32_t generation = entry.generation.Acquire();
    if (entry.owner.Get() != owner) continue;
    const ProcessRef process = ProcessRef::FromWord(owner);
    if (process.generation == 0 || process.slot >= geometry_.processes) return {};
    return {static_cast<uint16_t>(index), generation, process};
  }
}

ProcessRef Segment::OwnerOf(const RequestCell& request) const {
  const ProcessRef named{request.process_slot.Get(), request.process_generation.Get()};
  const uint32_t index = request.agent.Get();
  if (index >= geometry_.agents || IsNewest(named)) return named;
  const AgentRef agent = AgentAt(index);
  const bool is_same = agent.generation == request.agent_generation.Get() &&
                       agent.process.slot == named.slot && IsNewest(agent.process);
  return is_same ? agent.process : named;
}

uint64_t Segment::Id() const {
  const SegmentHeader& h = header();
  const uint64_t id = h.segment_id.Get();
  const uint64_t copy = h.segment_id_copies[0].Get();
  return copy == h.segment_id_copies[1].Get() && copy != 0 ? copy : id;
}

}  // namespace holdfast::segment
