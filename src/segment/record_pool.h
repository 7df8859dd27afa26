// The free cells of a shard. All functions run inside the shard lock, except as noted.
#ifndef HOLDFAST_SEGMENT_RECORD_POOL_H_
#define HOLDFAST_SEGMENT_RECORD_POOL_H_

#include <cstdint>

#include "segment/shard_view.h"

namespace holdfast::segment {

class RecordPool {
 public:
  explicit RecordPool(ShardView shard) : shard_(shard) {}

  uint32_t FreeCount() const { return shard_.header().free_count.Get(); }
  // Takes a free cell from the list; kNoCell if there is none or the list is corrupted. Until its
  // state is stored, a crash leaves the cell free.
  CellId Allocate();
  // Commits the end of a record, then puts its cell on the free list.
  void Free(CellId id, AnyCell& cell);

  // Makes the free list anew, of the free cells of all extents of the shard.
  void LinkFree();

  // Writes the free list's links through the cells of an extent that this process has claimed and
  // no shard owns yet; without the shard lock.
  static void Prepare(Segment& segment, uint32_t extent);
  // Makes a prepared extent part of the shard, if its owner word is still `claim`. A peer that took
  // this process for dead may have taken the extent.
  void AddExtent(uint32_t extent, uint32_t claim);

 private:
  ShardView shard_;
};

inline CellId RecordPool::Allocate() {
  ShardHeader& header = shard_.header();
  const CellId id = header.free_head.Get();
  AnyCell* const cell = shard_.CellAt(id);
  if (cell == nullptr || cell->state.Get() != CellState::kFree) {
    shard_.MarkCorrupted();
    return kNoCell;
  }
  header.free_head.Set(cell->next.Get());
  header.free_count.Set(header.free_count.Get() - 1);
  header.used_count.Set(header.used_count.Get() + 1);
  return id;
}

inline void RecordPool::Free(CellId id, AnyCell& cell) {
  // A death before this store leaves the record; after it, a free cell in no list, which Repair
  // puts back.
  cell.state.Publish(CellState::kFree);
  ShardHeader& header = shard_.header();
  cell.next.Set(header.free_head.Get());
  header.free_head.Set(id);
  header.free_count.Set(header.free_count.Get() + 1);
  header.used_count.Set(header.used_count.Get() - 1);
}

// Text (UTF-16 code units) in separate cells: the part of a resource name that does not fit its
// cell, or the label of a request. Inside the shard lock.
class TextPieces {
 public:
  // `owner`: the cell of the name or the request.
  TextPieces(ShardView shard, CellId owner) : shard_(shard), owner_(owner) {}

  static constexpr uint32_t CellsFor(uint32_t units) {
    return units / kTextCellUnits + (units % kTextCellUnits != 0 ? 1 : 0);
  }
  // Links the pieces behind `first`. A death before the owner is committed leaves pieces without an
  // owner, which Repair frees. False: the pool did not have CellsFor(length), or is corrupted.
  bool Write(const char16_t* units, uint32_t length, Shared<CellId>& first);
  // REQUIRES: the end of the owner was committed. False: corrupted.
  bool Free(CellId first);

 private:
  ShardView shard_;
  CellId owner_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_RECORD_POOL_H_
