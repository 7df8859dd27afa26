#include "segment/intact_names.h"

#include "segment/name_table.h"

namespace holdfast::segment {

void IntactNames::Add(CellId id, const NameCell& cell) {
  const Name name{id, &cell};
  if (!IsIntact(name)) return;
  const uint64_t hash = cell.hash.Get();
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!HaveEqualUnits(name, it->second)) continue;
    kept_as_.emplace(id, it->second.id);
    return;
  }
  by_hash_.emplace(hash, name);
  kept_as_.emplace(id, id);
}

CellId IntactNames::KeptAs(CellId id) const {
  const auto it = kept_as_.find(id);
  return it == kept_as_.end() ? kNoCell : it->second;
}

// Each piece belongs to one position of one name: no piece is read twice.
bool IntactNames::HasItsPieces(const Name& name) {
  CellId id = name.cell->text.Get();
  for (uint32_t left = NameTable::CellsFor(name.cell->length.Get()) - 1; left > 0; --left) {
    const TextCell* const text = shard_.TextAt(id);
    if (text == nullptr || text->owner.Get() != name.id || pieces_[id - 1]) return false;
    pieces_[id - 1] = true;
    id = text->following.Get();
  }
  return true;
}

// A name is kept if its units match its stored hash, and if the hash belongs to this shard.
bool IntactNames::IsIntact(const Name& name) {
  const uint32_t length = name.cell->length.Get();
  const uint32_t shards = shard_.segment().geometry().shards;
  if (NameTable::CellsFor(length) > shard_.MaxCells() || !HasItsPieces(name)) return false;
  NameReader reader(shard_, name.id, *name.cell);
  NameHasher hasher(shard_.segment().name_key());
  for (uint32_t i = 0; i < length; ++i) {
    uint16_t unit = 0;
    if (!reader.Next(unit)) return false;
    hasher.Add(unit);
  }
  const uint64_t hash = hasher.Finish(length);
  return hash == name.cell->hash.Get() && ShardOfHash(hash, shards) == shard_.index();
}

bool IntactNames::HaveEqualUnits(const Name& a, const Name& b) const {
  const uint32_t length = a.cell->length.Get();
  if (length != b.cell->length.Get()) return false;
  NameReader a_reader(shard_, a.id, *a.cell);
  NameReader b_reader(shard_, b.id, *b.cell);
  for (uint32_t i = 0; i < length; ++i) {
    uint16_t a_unit = 0;
    uint16_t b_unit = 0;
    if (!a_reader.Next(a_unit) || !b_reader.Next(b_unit) || a_unit != b_unit) return false;
  }
  return true;
}

}  // namespace holdfast::segment
