// The valid names of a shard, each once, for a repair. If a name has several cells (it had dropped
// out of its hash bucket, and was added again), the first one found counts.
#ifndef HOLDFAST_SEGMENT_INTACT_NAMES_H_
#define HOLDFAST_SEGMENT_INTACT_NAMES_H_

#include <unordered_map>
#include <vector>

#include "segment/shard_view.h"

namespace holdfast::segment {

class IntactNames {
 public:
  explicit IntactNames(ShardView shard)
      : shard_(shard), pieces_(shard.segment().geometry().cells()) {}

  // Checks a name cell, and keeps it if it is valid.
  void Add(CellId id, const NameCell& cell);
  // The cell that was kept for this cell's name; kNoCell: the name is not valid.
  CellId KeptAs(CellId id) const;

 private:
  struct Name {
    CellId id;
    const NameCell* cell;
  };

  bool HasItsPieces(const Name& name);
  bool IsIntact(const Name& name);
  bool HaveEqualUnits(const Name& a, const Name& b) const;

  ShardView shard_;
  std::unordered_multimap<uint64_t, Name> by_hash_;
  std::unordered_map<CellId, CellId> kept_as_;
  std::vector<bool> pieces_;  // by cell number: pieces of names found so far
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_INTACT_NAMES_H_
