// Text (UTF-16 code units) in separate cells: the part of a resource name that does not fit into
// its cell, or the label of a request. Inside the shard lock.
#ifndef HOLDFAST_SEGMENT_TEXT_PIECES_H_
#define HOLDFAST_SEGMENT_TEXT_PIECES_H_

#include <cstdint>

#include "segment/shard_view.h"

namespace holdfast::segment {

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

#endif  // HOLDFAST_SEGMENT_TEXT_PIECES_H_
