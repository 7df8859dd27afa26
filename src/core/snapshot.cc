#include "core/snapshot.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "segment/biased_record.h"
#include "segment/name_table.h"

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
    WakeQueue wake_queue(lock_table_.segment(), lock_table_.host());
    const Result<ShardLock> lock = lock_table_.EnterForRead(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    if (CopyLocked(shard)) return Status();
  }
  return {StatusCode::kBusy, "the lock table grows faster than it is copied"};
}

// Called before the shard is entered. Touches the pages, and adds a reserve for cells that are used
// before that.
void TableCopy::MakeRoom(uint32_t shard) {
  Segment& segment = lock_table_.segment();
  constexpr uint64_t kReserve = 64;
  const uint64_t used = segment.shard(shard).used_count.Get();
  // The count may be corrupted. An extent has one shard, so all shards together have no more cells
  // than the table.
  const uint64_t own = used == 0 ? 0 : CellsOfExtents(shard);
  shards_[shard].cells.resize(std::min<uint64_t>(used + used / 4, own) + kReserve);
}

uint64_t TableCopy::CellsOfExtents(uint32_t shard) const {
  const Segment& segment = lock_table_.segment();
  uint64_t extents = 0;
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    if (segment.ShardOfCell(segment.FirstCell(extent)) == shard) ++extents;
  }
  return extents * segment.geometry().cells_per_extent;
}

// False when there is not enough room.
bool TableCopy::CopyLocked(uint32_t shard) {
  Segment& segment = lock_table_.segment();
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
      if (segment::IsBiased(state)) segment::Revoke(segment::AsRequest(cell));
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
    const segment::ShardHeader& header = lock_table_.segment().shard(shard);
    const uint64_t changes = header.changes.Acquire();
    // Operations in the publication list were already made.
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

using segment::Geometry;
using segment::ProcessRef;

TableUsage ReadTableUsage(const segment::Segment& segment, segment::Host& host) {
  const Geometry& g = segment.geometry();
  TableUsage usage;
  usage.capacity = g.capacity;
  usage.max_cells = g.cells();
  usage.max_processes = g.processes;
  usage.max_agents = g.agents;
  uint64_t used = 0;
  for (uint32_t i = 0; i < g.shards; ++i) used += segment.shard(i).used_count.Get();
  usage.used_cells = static_cast<uint32_t>(std::min<uint64_t>(used, usage.max_cells));
  for (uint32_t slot = 0; slot < g.processes; ++slot) {
    const segment::ProcessEntry& entry = segment.process(slot);
    const uint32_t generation = entry.generation.Acquire();
    if (generation == entry.cleaned_generation.Acquire()) continue;
    const ProcessRef process{static_cast<uint16_t>(slot), generation};
    if (host.IsAlive(process)) ++usage.processes;
  }
  for (uint32_t i = 0; i < g.agents; ++i) {
    if (segment.AgentAt(i).process.generation != 0) ++usage.agents;
  }
  return usage;
}

using segment::NameCell;
using segment::RequestCell;
using segment::TextCell;

namespace {

class Reader {
 public:
  Reader(LockTable& lock_table, const TableCopy& table) : lock_table_(lock_table), table_(table) {}

  Snapshot Read() {
    for (shard_ = 0; shard_ < lock_table_.segment().geometry().shards; ++shard_) ReadShard();
    return std::move(snapshot_);
  }

 private:
  static uint64_t PositionOf(const CopiedCell& cell) {
    return cell.As<RequestCell>().queue_position.Get();
  }

  void ReadShard() {
    std::vector<const CopiedCell*> requests;
    for (const CopiedCell& cell : table_.CellsOf(shard_)) {
      if (cell.IsShown()) requests.push_back(&cell);
    }
    std::sort(requests.begin(), requests.end(), [](const CopiedCell* a, const CopiedCell* b) {
      return PositionOf(*a) < PositionOf(*b);
    });
    for (const CopiedCell* request : requests) Show(*request);
  }

  void Show(const CopiedCell& cell) {
    const auto& request = cell.As<RequestCell>();
    const ProcessRef process{request.process_slot.Get(), request.process_generation.Get()};
    if (!IsAlive(process)) return;
    LockInfo info;
    if (!ReadName(request.name.Get(), info.name)) return;
    info.mode = request.mode.Get() == 0 ? LockMode::kExclusive : LockMode::kShared;
    info.client_id[0] = cell.client_id[0];
    info.client_id[1] = cell.client_id[1];
    info.thread_id = cell.thread_id;
    const bool is_held = cell.state() == CellState::kHeld;
    ReadDetails(request, process, is_held, info);
    (is_held ? snapshot_.held : snapshot_.pending).push_back(std::move(info));
  }

  // Details beyond the standard's snapshot.
  void ReadDetails(const RequestCell& request, ProcessRef process, bool is_held,
                   LockInfo& info) const {
    const segment::ProcessEntry& entry = lock_table_.segment().process(process.slot);
    const segment::ProcessEntry& own = lock_table_.segment().process(lock_table_.self().slot);
    const bool is_near = entry.pid_namespace.Get() == own.pid_namespace.Get();
    info.process_id = is_near ? entry.process_id.Get() : 0;
    info.limit = request.limit.Get();
    info.hold_limit_ns = request.hold_limit_ns.Get();
    info.request_id = request.request_id.Get();
    info.enclosing_token = request.enclosing_token.Get();
    info.requested_ms = request.requested_ms.Get();
    info.position = segment::QueuePosition::FromWord(request.queue_position.Get());
    ReadText(request.label.Get(), request.label_length.Get(), info.label);
    ReadText(request.call_site.Get(), request.call_site_length.Get(), info.call_site);
    if (!is_held) return;
    info.token = request.token.Get();
    info.granted_ms = request.granted_ms.Get();
  }

  // A label or a call site.
  void ReadText(CellId first, uint32_t length, std::u16string& text) const {
    if (first == segment::kNoCell || length > segment::kMaxLabelUnits) return;
    (void)ReadPieces(first, length, text);
  }

  bool IsAlive(ProcessRef process) {
    if (process == lock_table_.self() || Contains(alive_, process)) return true;
    if (Contains(snapshot_.dead, process)) return false;
    const bool is_alive = lock_table_.host().IsAlive(process);
    (is_alive ? alive_ : snapshot_.dead).push_back(process);
    return is_alive;
  }

  static bool Contains(const std::vector<ProcessRef>& list, ProcessRef process) {
    return std::find(list.begin(), list.end(), process) != list.end();
  }

  const CopiedCell* Find(CellId id, CellState state) const {
    return table_.Find(shard_, id, state);
  }

  bool ReadName(CellId id, std::u16string& units) const {
    const CopiedCell* const cell = Find(id, CellState::kName);
    if (cell == nullptr) return false;
    const auto& name = cell->As<NameCell>();
    const uint32_t length = name.length.Get();
    // A corrupted length must not allocate that much memory.
    if (segment::NameTable::CellsFor(length) > table_.CellsOf(shard_).size()) return false;
    const uint32_t here = std::min(length, segment::kNameCellUnits);
    ReadUnits(name.units, here, units);
    return ReadPieces(name.text.Get(), length - here, units);
  }

  bool ReadPieces(CellId id, uint32_t length, std::u16string& units) const {
    while (length > 0) {
      const CopiedCell* const cell = Find(id, CellState::kText);
      if (cell == nullptr) return false;
      const uint32_t here = std::min(length, segment::kTextCellUnits);
      const auto& text = cell->As<TextCell>();
      ReadUnits(text.units, here, units);
      length -= here;
      id = text.following.Get();
    }
    return true;
  }

  template <typename Units>
  static void ReadUnits(const Units& from, uint32_t count, std::u16string& units) {
    for (uint32_t i = 0; i < count; ++i) units.push_back(static_cast<char16_t>(from[i].Get()));
  }

  LockTable& lock_table_;
  const TableCopy& table_;
  uint32_t shard_ = 0;  // that is read now
  std::vector<ProcessRef> alive_;
  Snapshot snapshot_;
};

}  // namespace

Result<Snapshot> TakeSnapshot(LockTable& lock_table, uint64_t timeout_ns) {
  TableCopy table(lock_table);
  const Status copied = table.Take(timeout_ns);
  if (!copied.ok()) return copied;
  return Reader(lock_table, table).Read();
}

}  // namespace holdfast::core
