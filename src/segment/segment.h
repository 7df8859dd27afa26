// A mapped segment: finds the structs in it and hands out no pointer that is not inside.
//
// Everything read from the segment may be corrupted. Indexes are checked here, against the geometry
// that this process has computed.
#ifndef HOLDFAST_SEGMENT_SEGMENT_H_
#define HOLDFAST_SEGMENT_SEGMENT_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "platform/clock.h"
#include "platform/status.h"
#include "segment/backing.h"
#include "segment/geometry.h"
#include "segment/layout.h"
#include "segment/owner.h"
#include "segment/resource_name.h"

namespace holdfast::segment {

// The first token of a segment that is created at this time: one per 16 ns, faster than any series
// of grants. So tokens keep rising when a segment is created again.
inline uint64_t TokenAt(uint64_t realtime_ns) {
  constexpr uint64_t kNsPerToken = 16;
  return std::clamp(realtime_ns / kNsPerToken, kFirstToken, kTokenLimit - 1);
}

// Values of an extent's owner word: 0 free, shard + 1, or claimed by the process that allocates it,
// which the other bits name (ProcessRef::ToShortWord).
inline constexpr uint32_t kExtentClaimed = 0x80000000;

// A const Segment only reads.
class Segment {
 public:
  // `base` points to geometry.capacity bytes and outlives the object.
  Segment(void* base, const Geometry& geometry);

  // From now on only allocated parts are touched. Without this call all parts count as allocated.
  // `backing` outlives the object.
  void UseBacking(Backing& backing) { backing_ = &backing; }

  // Writes the header of a new, zeroed segment. Tokens begin behind `first_token`.
  void Initialize(const platform::BootId& boot_id, uint64_t first_token, const NameKey& key = {});
  // kVersionMismatch: created with another layout version; kSegmentBroken: not a segment.
  static Status CheckLayout(const SegmentHeader& header);
  // The same, and kSegmentBroken: corrupted.
  Status CheckHeader() const;
  // Nothing survives a reboot: marks every shard for repair if there was one.
  void AdoptBoot(const platform::BootId& boot_id);

  const Geometry& geometry() const { return geometry_; }
  SegmentHeader& header() { return *At<SegmentHeader>(0); }
  const SegmentHeader& header() const { return *At<SegmentHeader>(0); }
  // The index of these must be in range: callers count with the geometry.
  ShardHeader& shard(uint32_t index) { return At<ShardHeader>(geometry_.shards_at)[index]; }
  const ShardHeader& shard(uint32_t index) const {
    return At<ShardHeader>(geometry_.shards_at)[index];
  }
  ProcessEntry& process(uint32_t slot) { return At<ProcessEntry>(geometry_.processes_at)[slot]; }
  const ProcessEntry& process(uint32_t slot) const {
    return At<ProcessEntry>(geometry_.processes_at)[slot];
  }
  AgentEntry& agent(uint32_t index) { return At<AgentEntry>(geometry_.agents_at)[index]; }
  const AgentEntry& agent(uint32_t index) const {
    return At<AgentEntry>(geometry_.agents_at)[index];
  }
  Shared<CellId>& agent_list(uint32_t agent, uint32_t shard) {
    return At<Shared<CellId>>(geometry_.agent_lists_at)[uint64_t{agent} * geometry_.shards + shard];
  }
  Shared<uint32_t>& extent_owner(uint32_t extent) {
    return At<Shared<uint32_t>>(geometry_.extent_owners_at)[extent];
  }
  const Shared<uint32_t>& extent_owner(uint32_t extent) const {
    return At<Shared<uint32_t>>(geometry_.extent_owners_at)[extent];
  }
  Shared<CellId>& bucket(uint32_t shard, uint64_t hash) {
    const uint64_t index = hash & (geometry_.buckets_per_shard - 1);
    return At<Shared<CellId>>(
        geometry_.buckets_at)[uint64_t{shard} * geometry_.buckets_per_shard + index];
  }

  // The slot of this entry, and of those a whole round before or after it.
  WatchRingSlot& watch_ring_slot(uint64_t number) {
    return At<WatchRingSlot>(geometry_.watch_ring_at)[number & (geometry_.watch_ring_slots - 1)];
  }
  Shared<uint64_t>& watch_ring_word(uint64_t at) {
    return At<Shared<uint64_t>>(
        geometry_.watch_ring_words_at)[at & (geometry_.watch_ring_words - 1)];
  }

  // Whether the cells of an extent are this shard's, and may be touched.
  bool IsExtentOf(uint32_t shard, uint32_t extent) const {
    return extent_owner(extent).Get() == shard + 1 &&
           (backing_ == nullptr || backing_->HasExtent(extent));
  }
  // Whether a process has claimed an extent, which no shard owns, and it may be touched.
  bool IsClaimed(uint32_t extent) const {
    return extent < geometry_.extents && (extent_owner(extent).Get() & kExtentClaimed) != 0 &&
           (backing_ == nullptr || backing_->HasExtent(extent));
  }
  // Whether the watch ring may be touched.
  bool HasWatchRing() const { return backing_ == nullptr || backing_->HasWatchRing(); }

  // The cell, or null when `id` is no cell of this shard.
  AnyCell* CellAt(uint32_t shard, CellId id) {
    const uint32_t number = id - 1;  // kNoCell becomes the largest number: out of range
    const uint32_t extent = number >> extent_shift_;
    if (extent >= geometry_.extents || !IsExtentOf(shard, extent)) return nullptr;
    return CellByNumber(number);
  }
  // The cell with this number (id - 1, below cells()), whatever owns it.
  AnyCell* CellByNumber(uint32_t number) {
    return At<AnyCell>(geometry_.extents_at + uint64_t{number} * kCellBytes);
  }
  const AnyCell* CellByNumber(uint32_t number) const {
    return At<AnyCell>(geometry_.extents_at + uint64_t{number} * kCellBytes);
  }
  // The shard of a cell, or geometry().shards when `id` is no cell of any.
  uint32_t ShardOfCell(CellId id) const;
  // The id of the first cell of an extent.
  CellId FirstCell(uint32_t extent) const { return (extent << extent_shift_) + 1; }
  // A cell by number, for a process that has claimed the extent before a shard owns it.
  AnyCell* CellInExtent(uint32_t extent, uint32_t index) {
    return CellByNumber((extent << extent_shift_) + index);
  }
  const AnyCell* CellInExtent(uint32_t extent, uint32_t index) const {
    return CellByNumber((extent << extent_shift_) + index);
  }
  uint64_t ExtentOffset(uint32_t extent) const {
    return geometry_.extents_at + uint64_t{extent} * geometry_.extent_bytes;
  }

  // Whether `process` is the newest claim of its slot; says nothing about its life.
  bool IsNewest(ProcessRef process) const {
    return process.generation != 0 && process.slot < geometry_.processes &&
           this->process(process.slot).generation.Acquire() == process.generation;
  }
  // The process that the 31 bits of ProcessRef::ToShortWord name; generation 0: none that can live.
  ProcessRef FromShortWord(uint32_t word) const;
  // The agent that an entry names, with generation 0 when the entry is free.
  AgentRef AgentAt(uint32_t index) const;
  // The process of a record. If the agent's entry names another one, the entry counts: one
  // corrupted word must not make a living owner look dead.
  ProcessRef OwnerOf(const RequestCell& request) const;
  // The key of the hash of names, as it was when this object was made. A later corruption of the
  // key does not move names to other shards for this process.
  const NameKey& name_key() const { return name_key_; }
  // The number in the file names of this segment, by the majority of its copies.
  uint64_t Id() const;

 private:
  NameKey ReadNameKey() const;
  template <typename T>
  T* At(uint64_t offset) {
    return reinterpret_cast<T*>(base_ + offset);
  }
  template <typename T>
  const T* At(uint64_t offset) const {
    return reinterpret_cast<const T*>(base_ + offset);
  }

  unsigned char* base_;
  Geometry geometry_;
  NameKey name_key_;
  uint32_t extent_shift_;
  Backing* backing_ = nullptr;
};

// A cell as the type that its state names.
inline RequestCell& AsRequest(AnyCell& cell) { return reinterpret_cast<RequestCell&>(cell); }
inline NameCell& AsName(AnyCell& cell) { return reinterpret_cast<NameCell&>(cell); }
inline TextCell& AsText(AnyCell& cell) { return reinterpret_cast<TextCell&>(cell); }

// The lock was lost; its agent has not read the event yet.
inline bool IsLost(CellState state) {
  return state == CellState::kStolen || state == CellState::kExpired;
}

inline bool IsRequestState(CellState state) {
  return state == CellState::kWaiting || state == CellState::kHeld ||
         state == CellState::kStealing || IsLost(state) || state == CellState::kZombie ||
         state == CellState::kRevoked;
}

// Checks the upper bits only; in a valid record the other bits are the low bits of its ticket.
inline bool IsBiasedHeld(CellState state) {
  return (static_cast<uint32_t>(state) & ~kTicketBits) == kBiasedHeldBits;
}
inline bool IsBiased(CellState state) {
  return IsBiasedHeld(state) || (static_cast<uint32_t>(state) & ~kTicketBits) == kBiasedFreeBits;
}
// Whether a cell in this state is a request.
// Open, and of this record. Apart from IsRequest(), which is in every step of a list.
[[gnu::noinline]] bool IsBiasedRequest(const AnyCell& cell, CellState state);
inline bool IsRequest(const AnyCell& cell, CellState state) {
  return IsRequestState(state) || (IsBiased(state) && IsBiasedRequest(cell, state));
}

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_SEGMENT_H_
