// One shard of a segment, as the code inside the shard lock sees it. A handle, like a pointer: a
// const view may write, too.
#ifndef HOLDFAST_SEGMENT_SHARD_VIEW_H_
#define HOLDFAST_SEGMENT_SHARD_VIEW_H_

#include <cstdint>

#include "segment/segment.h"

namespace holdfast::segment {

class ShardView {
 public:
  ShardView(Segment& segment, uint32_t index) : segment_(&segment), index_(index) {}

  Segment& segment() const { return *segment_; }
  uint32_t index() const { return index_; }
  ShardHeader& header() const { return segment_->shard(index_); }
  AnyCell* CellAt(CellId id) const { return segment_->CellAt(index_, id); }
  // Null when the cell is not a request (a name, a text) of this shard.
  RequestCell* RequestAt(CellId id) const {
    return id == kNoCell ? nullptr : RequestOrNull(CellAt(id));  // mostly there is none
  }
  NameCell* NameAt(CellId id) const {
    AnyCell* const cell = CellAt(id);
    return cell != nullptr && cell->state.Get() == CellState::kName ? &AsName(*cell) : nullptr;
  }
  TextCell* TextAt(CellId id) const {
    AnyCell* const cell = CellAt(id);
    return cell != nullptr && cell->state.Get() == CellState::kText ? &AsText(*cell) : nullptr;
  }
  // No list is longer than this: the bound of every walk.
  uint32_t MaxCells() const { return segment_->geometry().cells(); }
  // A thread found an impossible state: the next thread that enters rebuilds the index.
  void MarkCorrupted() const { header().dirty.Set(1); }

 private:
  static RequestCell* RequestOrNull(AnyCell* cell) {
    return cell != nullptr && IsRequest(*cell, cell->state.Acquire()) ? &AsRequest(*cell) : nullptr;
  }

  Segment* segment_;
  uint32_t index_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_SHARD_VIEW_H_
