#include "core/table_copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "segment/kept_record.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::kCellBytes;
using segment::Segment;
using segment::ShardLock;

namespace {

// How many copies of shards are begun at most: four of each in a table of 64 shards.
constexpr size_t kMaxCopies = 256;
// How often room is made for a shard that grows.
constexpr int kMaxCopyAttempts = 8;

// Copies word by word: an agent that takes its events may clear a link at the same time.
void CopyCell(Segment& segment, CellId id, const segment::AnyCell& cell, CopiedCell& copy) {
  using Word = segment::Shared<uint64_t>;
  copy.id = id;
  const auto* words = reinterpret_cast<const Word*>(&cell);
  for (size_t i = 0; i < kCellBytes / sizeof(Word); ++i) {
    const uint64_t word = words[i].Get();
    std::memcpy(copy.bytes + i * sizeof(Word), &word, sizeof(word));
  }
  if (!copy.IsShown()) return;
  const uint16_t agent = copy.As<segment::RequestCell>().agent.Get();
  if (agent >= segment.geometry().agents) return;
  copy.client_id[0] = segment.agent(agent).client_id[0].Get();
  copy.client_id[1] = segment.agent(agent).client_id[1].Get();
  copy.thread_id = segment.agent(agent).thread_id.Get();
}

}  // namespace

Status TableCopy::Take(uint64_t timeout_ns) {
  std::vector<uint32_t> shards(shards_.size());
  std::iota(shards.begin(), shards.end(), 0U);
  for (size_t copies = 0; !shards.empty() && copies < kMaxCopies; shards = ChangedShards()) {
    for (const uint32_t shard : shards) {
      const Status copied = CopyShard(shard, timeout_ns);
      if (!copied.ok()) return copied;
    }
    copies += shards.size();
  }
  return Status();
}

Status TableCopy::CopyShard(uint32_t shard, uint64_t timeout_ns) {
  for (int attempt = 0; attempt < kMaxCopyAttempts; ++attempt) {
    MakeRoom(shard);
    WakeQueue wake_queue(manager_.segment(), manager_.host());
    const Result<ShardLock> lock = manager_.EnterForRead(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    if (CopyLocked(shard)) return Status();
  }
  return {StatusCode::kBusy, "the lock table grows faster than it is copied"};
}

// Called before the shard is entered. Touches the pages, and adds a reserve for cells that are used
// before that.
void TableCopy::MakeRoom(uint32_t shard) {
  Segment& segment = manager_.segment();
  constexpr uint64_t kReserve = 64;
  const uint64_t used = segment.shard(shard).used_count.Get();
  // The count may be corrupted. An extent has one shard, so all shards together have no more cells
  // than the table.
  const uint64_t own = used == 0 ? 0 : CellsOfExtents(shard);
  shards_[shard].cells.resize(std::min<uint64_t>(used + used / 4, own) + kReserve);
}

uint64_t TableCopy::CellsOfExtents(uint32_t shard) const {
  const Segment& segment = manager_.segment();
  uint64_t extents = 0;
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    if (segment.ShardOfCell(segment.FirstCell(extent)) == shard) ++extents;
  }
  return extents * segment.geometry().cells_per_extent;
}

// False when there is not enough room.
bool TableCopy::CopyLocked(uint32_t shard) {
  Segment& segment = manager_.segment();
  ShardCopy& copy = shards_[shard];
  copy.changes = segment.shard(shard).changes.Get();
  size_t count = 0;
  const uint32_t extents =
      segment.shard(shard).used_count.Get() == 0 ? 0 : segment.geometry().extents;
  for (uint32_t extent = 0; extent < extents; ++extent) {
    const CellId first = segment.FirstCell(extent);
    if (segment.ShardOfCell(first) != shard) continue;
    for (uint32_t i = 0; i < segment.geometry().cells_per_extent; ++i) {
      segment::AnyCell& cell = *segment.CellInExtent(extent, i);
      const CellState state = cell.state.Get();
      if (state == CellState::kFree) continue;
      // From here on it changes only with the counter.
      if (segment::IsOpen(state)) segment::Close(segment::AsRequest(cell));
      if (count == copy.cells.size()) return false;
      CopyCell(segment, first + i, cell, copy.cells[count++]);
    }
  }
  copy.cells.resize(count);
  return true;
}

// Locking and unlocking are read-modify-writes with full ordering, so no change counter is read
// before the last copy.
std::vector<uint32_t> TableCopy::ChangedShards() const {
  std::vector<uint32_t> changed;
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    const segment::ShardHeader& header = manager_.segment().shard(shard);
    const uint64_t changes = header.changes.Acquire();
    // Operations in the intake were already made.
    if (segment::HasOperations(header) || changes != shards_[shard].changes) {
      changed.push_back(shard);
    }
  }
  return changed;
}

const CopiedCell* TableCopy::Find(uint32_t shard, CellId id, CellState state) const {
  const std::vector<CopiedCell>& cells = CellsOf(shard);
  const auto it =
      std::lower_bound(cells.begin(), cells.end(), id,
                       [](const CopiedCell& cell, CellId wanted) { return cell.id < wanted; });
  return it != cells.end() && it->id == id && it->state() == state ? &*it : nullptr;
}

}  // namespace holdfast::core
