#include "segment/name_table.h"

#include "segment/record_pool.h"

namespace holdfast::segment {

bool NameReader::Next(uint16_t& unit) {
  const uint32_t at = position_++;
  if (at < kNameCellUnits) {
    unit = name_.units[at].Get();
    return true;
  }
  const uint32_t in_text = (at - kNameCellUnits) % kTextCellUnits;
  if (in_text == 0) {
    text_ = shard_.TextAt(following_);
    if (text_ == nullptr || text_->owner.Get() != id_) {
      text_ = nullptr;
      following_ = kNoCell;
    } else {
      following_ = text_->following.Get();
    }
  }
  if (text_ == nullptr) return false;
  unit = text_->units[in_text].Get();
  return true;
}

bool NameTable::IsEqual(const NameCell& cell, const ResourceName& name) const {
  if (cell.length.Get() != name.length()) return false;
  const uint32_t here = name.length() < kNameCellUnits ? name.length() : kNameCellUnits;
  for (uint32_t i = 0; i < here; ++i) {
    if (cell.units[i].Get() != name.units()[i]) return false;
  }
  CellId following = cell.text.Get();
  for (uint32_t i = here; i < name.length();) {
    const TextCell* const text = shard_.TextAt(following);
    if (text == nullptr) return false;
    for (uint32_t j = 0; j < kTextCellUnits && i < name.length(); ++j, ++i) {
      if (text->units[j].Get() != name.units()[i]) return false;
    }
    following = text->following.Get();
  }
  return true;
}

NameTable::Found NameTable::Find(const ResourceName& name) const {
  const uint64_t hash = name.HashIn(shard_.segment());
  CellId id = shard_.segment().bucket(shard_.index(), hash).Get();
  for (uint32_t steps = 0; id != kNoCell; ++steps) {
    NameCell* const cell = shard_.NameAt(id);
    if (cell == nullptr || steps > shard_.MaxCells()) {
      shard_.MarkCorrupted();
      return {kNoCell, nullptr, true};
    }
    if (cell->hash.Get() == hash && IsEqual(*cell, name)) return {id, cell, false};
    id = cell->hash_next.Get();
  }
  return {};
}

NameTable::Found NameTable::Add(const ResourceName& name) {
  RecordPool pool(shard_);
  const CellId id = pool.Allocate();
  if (id == kNoCell) return {kNoCell, nullptr, true};
  NameCell& cell = AsName(*shard_.segment().CellByNumber(id - 1));
  const uint32_t here = name.length() < kNameCellUnits ? name.length() : kNameCellUnits;
  for (uint32_t i = 0; i < here; ++i) cell.units[i].Set(static_cast<uint16_t>(name.units()[i]));
  cell.text.Set(kNoCell);
  const uint32_t beyond = name.length() - here;
  // The cells allocated so far are in no list and have no committed owner: Repair frees them.
  if (beyond > 0 && !TextPieces(shard_, id).Write(name.units() + here, beyond, cell.text)) {
    return {kNoCell, nullptr, true};
  }
  cell.length.Set(name.length());
  cell.hash.Set(name.HashIn(shard_.segment()));
  cell.queue_head.Set(kNoCell);
  cell.queue_tail.Set(kNoCell);
  cell.held_head.Set(kNoCell);
  cell.held_tail.Set(kNoCell);
  cell.held_exclusive.Set(0);
  cell.held_shared.Set(0);
  cell.hold_limited.Set(0);
  // A death before this store leaves pieces without an owner; after it, an unused name. Repair
  // frees both.
  cell.state.Publish(CellState::kName);
  Link(id, cell);
  return {id, &cell, false};
}

void NameTable::Link(CellId id, NameCell& name) {
  Shared<CellId>& bucket = shard_.segment().bucket(shard_.index(), name.hash.Get());
  const CellId first = bucket.Get();
  name.hash_previous.Set(kNoCell);
  name.hash_next.Set(first);
  NameCell* const next = shard_.NameAt(first);
  if (next != nullptr) next->hash_previous.Set(id);
  bucket.Set(id);
}

bool NameTable::Remove(CellId id, NameCell& name) {
  const CellId next_id = name.hash_next.Get();
  const CellId previous_id = name.hash_previous.Get();
  NameCell* const next = shard_.NameAt(next_id);
  NameCell* const previous = shard_.NameAt(previous_id);
  Shared<CellId>& bucket = shard_.segment().bucket(shard_.index(), name.hash.Get());
  const bool is_linked = (next_id == kNoCell || next != nullptr) &&
                         (previous_id == kNoCell ? bucket.Get() == id : previous != nullptr);
  if (!is_linked) {
    shard_.MarkCorrupted();
    return false;
  }
  if (next != nullptr) next->hash_previous.Set(previous_id);
  (previous != nullptr ? previous->hash_next : bucket).Set(next_id);

  const CellId text_id = name.text.Get();
  RecordPool(shard_).Free(id, reinterpret_cast<AnyCell&>(name));
  return text_id == kNoCell || TextPieces(shard_, id).Free(text_id);
}

}  // namespace holdfast::segment
