// The resource names of a shard: hash table, long names in pieces. Inside the shard lock.
#ifndef HOLDFAST_SEGMENT_NAME_TABLE_H_
#define HOLDFAST_SEGMENT_NAME_TABLE_H_

#include <cstdint>

#include "segment/record_pool.h"
#include "segment/resource_name.h"
#include "segment/shard_view.h"

namespace holdfast::segment {

class NameTable {
 public:
  explicit NameTable(ShardView shard) : shard_(shard) {}

  struct Found {
    CellId id = kNoCell;
    NameCell* cell = nullptr;
    bool corrupted = false;
  };
  // `cell` is null if there is no such name; `corrupted` if the table is inconsistent.
  Found Find(const ResourceName& name) const;
  // The number of cells that a new name needs.
  static uint32_t CellsFor(uint32_t length) {
    return length <= kNameCellUnits ? 1 : 1 + TextPieces::CellsFor(length - kNameCellUnits);
  }
  // Adds a name. REQUIRES: it is not in the table, and the pool has CellsFor(name.length()).
  Found Add(const ResourceName& name);
  // Removes an unused name; false: corrupted.
  bool Remove(CellId id, NameCell& name);
  // Puts a name cell into its hash bucket.
  void Link(CellId id, NameCell& name);
  // Whether the units in the segment are equal to these.
  bool IsEqual(const NameCell& cell, const ResourceName& name) const;

 private:
  ShardView shard_;
};

// Reads a name's units in order, across its pieces; checks each piece.
class NameReader {
 public:
  NameReader(ShardView shard, CellId id, const NameCell& name)
      : shard_(shard), id_(id), name_(name), following_(name.text.Get()) {}

  // False if the name ends too early, which is corruption; then it stays false.
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
