#include "core/snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "segment/name_table.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::kCellBytes;
using segment::ProcessRef;
using segment::Segment;

namespace {

// A cell as it was, with what its agent says of itself if it is a request.
struct CopiedCell {
  CellId id;
  uint32_t shard;
  uint64_t client_id[2];
  uint32_t thread_id;
  alignas(8) unsigned char bytes[kCellBytes];

  template <typename T>
  T Read(size_t offset) const {
    T value;
    std::memcpy(&value, bytes + offset, sizeof(T));
    return value;
  }
  CellState state() const { return Read<CellState>(offsetof(segment::AnyCell, state)); }
};

bool IsShown(CellState state) { return state == CellState::kHeld || state == CellState::kWaiting; }

// Copies word by word: news of an agent may clear a link at the same time.
void CopyCell(const Segment& segment, CellId id, uint32_t shard, const segment::AnyCell& cell,
              CopiedCell& copy) {
  using Word = segment::Shared<uint64_t>;
  copy.id = id;
  copy.shard = shard;
  const auto* words = reinterpret_cast<const Word*>(&cell);
  for (size_t i = 0; i < kCellBytes / sizeof(Word); ++i) {
    const uint64_t word = words[i].Get();
    std::memcpy(copy.bytes + i * sizeof(Word), &word, sizeof(word));
  }
  if (!IsShown(copy.state())) return;
  const auto agent = copy.Read<uint16_t>(offsetof(segment::RequestCell, agent));
  if (agent >= segment.geometry().agents) return;
  copy.client_id[0] = segment.agent(agent).client_id[0].Get();
  copy.client_id[1] = segment.agent(agent).client_id[1].Get();
  copy.thread_id = segment.agent(agent).thread_id.Get();
}

class Reader {
 public:
  Reader(LockManager& manager, std::vector<CopiedCell> cells)
      : manager_(manager), cells_(std::move(cells)) {}

  Snapshot Read() {
    std::vector<const CopiedCell*> requests;
    for (const CopiedCell& cell : cells_) {
      if (IsShown(cell.state())) requests.push_back(&cell);
    }
    std::sort(requests.begin(), requests.end(), [](const CopiedCell* a, const CopiedCell* b) {
      return std::pair(a->shard, TicketOf(*a)) < std::pair(b->shard, TicketOf(*b));
    });
    for (const CopiedCell* request : requests) Show(*request);
    return std::move(snapshot_);
  }

 private:
  static uint64_t TicketOf(const CopiedCell& cell) {
    return cell.Read<uint64_t>(offsetof(segment::RequestCell, ticket));
  }

  void Show(const CopiedCell& request) {
    const ProcessRef process{
        request.Read<uint16_t>(offsetof(segment::RequestCell, process_slot)),
        request.Read<uint32_t>(offsetof(segment::RequestCell, process_generation))};
    if (!IsAlive(process)) return;
    LockInfo info;
    const auto name = request.Read<CellId>(offsetof(segment::RequestCell, name));
    if (!ReadName(name, info.name)) return;
    const auto mode = request.Read<uint8_t>(offsetof(segment::RequestCell, mode));
    info.mode = mode == 0 ? LockMode::kExclusive : LockMode::kShared;
    info.client_id[0] = request.client_id[0];
    info.client_id[1] = request.client_id[1];
    const bool is_held = request.state() == CellState::kHeld;
    ReadDetails(request, process, is_held, info);
    (is_held ? snapshot_.held : snapshot_.pending).push_back(std::move(info));
  }

  // What the standard does not show.
  void ReadDetails(const CopiedCell& request, ProcessRef process, bool is_held,
                   LockInfo& info) const {
    const segment::ProcessEntry& entry = manager_.segment().process(process.slot);
    const segment::ProcessEntry& own = manager_.segment().process(manager_.self().slot);
    const bool is_near = entry.pid_namespace.Get() == own.pid_namespace.Get();
    info.process_id = is_near ? entry.process_id.Get() : 0;
    info.thread_id = request.thread_id;
    info.limit = request.Read<uint32_t>(offsetof(segment::RequestCell, limit));
    info.hold_limit_ns = request.Read<uint64_t>(offsetof(segment::RequestCell, hold_limit_ns));
    info.request_id = request.Read<uint32_t>(offsetof(segment::RequestCell, request_id));
    info.enclosing_token = request.Read<uint64_t>(offsetof(segment::RequestCell, enclosing_token));
    info.requested_ms = request.Read<uint64_t>(offsetof(segment::RequestCell, requested_ms));
    ReadText(request.Read<CellId>(offsetof(segment::RequestCell, label)),
             request.Read<uint32_t>(offsetof(segment::RequestCell, label_length)), info.label);
    ReadText(request.Read<CellId>(offsetof(segment::RequestCell, call_site)),
             request.Read<uint32_t>(offsetof(segment::RequestCell, call_site_length)),
             info.call_site);
    if (!is_held) return;
    info.token = request.Read<uint64_t>(offsetof(segment::RequestCell, token));
    info.granted_ms = request.Read<uint64_t>(offsetof(segment::RequestCell, granted_ms));
  }

  // A label or a call site.
  void ReadText(CellId first, uint32_t length, std::u16string& text) const {
    if (first == segment::kNoCell || length > segment::kMostLabelUnits) return;
    (void)ReadPieces(first, length, text);
  }

  bool IsAlive(ProcessRef process) {
    if (process == manager_.self() || Contains(alive_, process)) return true;
    if (Contains(snapshot_.dead, process)) return false;
    const bool is_alive = manager_.environment().IsAlive(process);
    (is_alive ? alive_ : snapshot_.dead).push_back(process);
    return is_alive;
  }

  static bool Contains(const std::vector<ProcessRef>& list, ProcessRef process) {
    return std::find(list.begin(), list.end(), process) != list.end();
  }

  // The cells were copied in ascending order.
  const CopiedCell* Find(CellId id, CellState state) const {
    const auto it =
        std::lower_bound(cells_.begin(), cells_.end(), id,
                         [](const CopiedCell& cell, CellId wanted) { return cell.id < wanted; });
    return it != cells_.end() && it->id == id && it->state() == state ? &*it : nullptr;
  }

  bool ReadName(CellId id, std::u16string& units) const {
    const CopiedCell* cell = Find(id, CellState::kName);
    if (cell == nullptr) return false;
    const auto length = cell->Read<uint32_t>(offsetof(segment::NameCell, length));
    // A damaged length must not become that much memory.
    if (segment::NameTable::CellsFor(length) > cells_.size()) return false;
    const uint32_t here = std::min(length, segment::kNameCellUnits);
    ReadUnits(*cell, offsetof(segment::NameCell, units), here, units);
    return ReadPieces(cell->Read<CellId>(offsetof(segment::NameCell, text)), length - here, units);
  }

  bool ReadPieces(CellId id, uint32_t length, std::u16string& units) const {
    while (length > 0) {
      const CopiedCell* const cell = Find(id, CellState::kText);
      if (cell == nullptr) return false;
      const uint32_t here = std::min(length, segment::kTextCellUnits);
      ReadUnits(*cell, offsetof(segment::TextCell, units), here, units);
      length -= here;
      id = cell->Read<CellId>(offsetof(segment::TextCell, following));
    }
    return true;
  }

  static void ReadUnits(const CopiedCell& cell, size_t offset, uint32_t count,
                        std::u16string& units) {
    for (uint32_t i = 0; i < count; ++i) {
      units.push_back(static_cast<char16_t>(cell.Read<uint16_t>(offset + i * sizeof(uint16_t))));
    }
  }

  LockManager& manager_;
  std::vector<CopiedCell> cells_;
  std::vector<ProcessRef> alive_;
  Snapshot snapshot_;
};

uint64_t CellsInUse(const Segment& segment) {
  uint64_t used = 0;
  for (uint32_t i = 0; i < segment.geometry().shards; ++i)
    used += segment.shard(i).used_count.Get();
  return used;
}

// Copies all cells in use, in ascending order; false when there are more than fit.
bool CopyCells(const Segment& segment, std::vector<CopiedCell>& cells, size_t most) {
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    const CellId first = segment.FirstCell(extent);
    const uint32_t shard = segment.ShardOfCell(first);
    if (shard >= segment.geometry().shards || segment.shard(shard).used_count.Get() == 0) continue;
    for (uint32_t i = 0; i < segment.geometry().cells_per_extent; ++i) {
      const segment::AnyCell& cell = *segment.CellInExtent(extent, i);
      if (cell.state.Get() == CellState::kFree) continue;
      if (cells.size() == most) return false;
      cells.emplace_back();
      CopyCell(segment, first + i, shard, cell, cells.back());
    }
  }
  return true;
}

}  // namespace

Result<Snapshot> TakeSnapshot(LockManager& manager, uint64_t budget_ns) {
  const Segment& segment = manager.segment();
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    // Room is made before the shards are entered, with a reserve for what comes meanwhile.
    const uint64_t most =
        std::min<uint64_t>(CellsInUse(segment) * 5 / 4 + 1024, segment.geometry().cells());
    std::vector<CopiedCell> cells;
    cells.reserve(most);
    std::vector<segment::ShardLock> locks;
    locks.reserve(segment.geometry().shards);
    bool is_complete = false;
    {
      Notices notices(segment, manager.environment());
      for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
        Result<segment::ShardLock> lock = manager.Enter(shard, notices, budget_ns);
        if (!lock.ok()) {
          locks.clear();
          return lock.status();
        }
        locks.push_back(std::move(*lock));
      }
      is_complete = CopyCells(segment, cells, most);
      locks.clear();
    }
    if (is_complete) return Reader(manager, std::move(cells)).Read();
  }
  return Status(StatusCode::kBusy, "the lock table grows faster than it can be copied");
}

}  // namespace holdfast::core
