// The names of a shard that a repair can believe, each once: of several cells for one name (a name
// that had fallen out of its bucket, and was added again) the first one met counts.
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

  // Looks at a name cell, and keeps it if it is sound.
  void Add(CellId id, const NameCell& cell);
  // The cell that stands for the name of this one; kNoCell: not sound.
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
  std::vector<bool> pieces_;  // by cell number: pieces of names that were met
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_INTACT_NAMES_H_
