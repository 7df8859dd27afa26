#include "segment/text_pieces.h"

#include "segment/record_pool.h"

namespace holdfast::segment {

bool TextPieces::Write(const char16_t* units, uint32_t length, Shared<CellId>& first) {
  RecordPool pool(shard_);
  first.Set(kNoCell);
  Shared<CellId>* link = &first;
  for (uint32_t i = 0; i < length;) {
    const CellId id = pool.Allocate();
    if (id == kNoCell) return false;
    TextCell& text = AsText(*shard_.segment().CellByNumber(id - 1));
    for (uint32_t j = 0; j < kTextCellUnits && i < length; ++j, ++i) {
      text.units[j].Set(static_cast<uint16_t>(units[i]));
    }
    text.owner.Set(owner_);
    text.following.Set(kNoCell);
    text.state.Publish(CellState::kText);
    link->Set(id);
    link = &text.following;
  }
  return true;
}

bool TextPieces::Free(CellId first) {
  RecordPool pool(shard_);
  CellId id = first;
  for (uint32_t steps = 0; id != kNoCell && steps < shard_.MaxCells(); ++steps) {
    TextCell* const text = shard_.TextAt(id);
    if (text == nullptr || text->owner.Get() != owner_) {
      shard_.MarkDamaged();
      return false;
    }
    const CellId following = text->following.Get();
    pool.Free(id, reinterpret_cast<AnyCell&>(*text));
    id = following;
  }
  return true;
}

}  // namespace holdfast::segment
