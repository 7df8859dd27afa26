// The resource names of a shard: hash table, long names in pieces. Inside the shard lock.
#ifndef HOLDFAST_SEGMENT_NAME_TABLE_H_
#define HOLDFAST_SEGMENT_NAME_TABLE_H_

#include <cstdint>

#include "segment/resource_name.h"
#include "segment/shard_view.h"
#include "segment/text_pieces.h"

namespace holdfast::segment {

class NameTable {
 public:
  explicit NameTable(ShardView shard) : shard_(shard) {}

  struct Found {
    CellId id = kNoCell;
    NameCell* cell = nullptr;
    bool damaged = false;
  };
  // cell is null when there is no such name; `damaged` when the table cannot be believed.
  Found Find(const ResourceName& name) const;
  // How many cells a new name takes.
  static uint32_t CellsFor(uint32_t length) {
    return length <= kNameCellUnits ? 1 : 1 + TextPieces::CellsFor(length - kNameCellUnits);
  }
  // Adds a name that is not there; the pool must have CellsFor(name.length()).
  Found Add(const ResourceName& name);
  // Takes a name out that nobody uses any more; false: damaged.
  bool Remove(CellId id, NameCell& name);
  // Puts a name cell (back) into its bucket.
  void Link(CellId id, NameCell& name);
  // Whether the units in the segment are these, bytes compared.
  bool IsEqual(const NameCell& cell, const ResourceName& name) const;

 private:
  ShardView shard_;
};

// Reads a name's units one after the other, across its pieces; checks each piece.
class NameReader {
 public:
  NameReader(ShardView shard, CellId id, const NameCell& name)
      : shard_(shard), id_(id), name_(name), following_(name.text.Get()) {}

  // False when the name ends too early, that is, when it is damaged; from then on always.
  bool Next(uint16_t& unit);

 private:
  ShardView shard_;
  CellId id_;
  const NameCell& name_;
  const TextCell* text_ = nullptr;
  CellId following_;
  uint32_t position_ = 0;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_NAME_TABLE_H_
