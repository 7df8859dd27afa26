#include "core/snapshot.h"

#include <algorithm>
#include <utility>

#include "core/table_copy.h"
#include "segment/name_table.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::ProcessRef;

namespace {

class Reader {
 public:
  Reader(LockManager& manager, const TableCopy& table) : manager_(manager), table_(table) {}

  Snapshot Read() {
    for (shard_ = 0; shard_ < manager_.segment().geometry().shards; ++shard_) ReadShard();
    return std::move(snapshot_);
  }

 private:
  static uint64_t TicketOf(const CopiedCell& cell) {
    return cell.Read<uint64_t>(offsetof(segment::RequestCell, ticket));
  }

  void ReadShard() {
    std::vector<const CopiedCell*> requests;
    for (const CopiedCell& cell : table_.CellsOf(shard_)) {
      if (cell.IsShown()) requests.push_back(&cell);
    }
    std::sort(requests.begin(), requests.end(),
              [](const CopiedCell* a, const CopiedCell* b) { return TicketOf(*a) < TicketOf(*b); });
    for (const CopiedCell* request : requests) Show(*request);
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

  // Details beyond the standard's snapshot.
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
    if (first == segment::kNoCell || length > segment::kMaxLabelUnits) return;
    (void)ReadPieces(first, length, text);
  }

  bool IsAlive(ProcessRef process) {
    if (process == manager_.self() || Contains(alive_, process)) return true;
    if (Contains(snapshot_.dead, process)) return false;
    const bool is_alive = manager_.host().IsAlive(process);
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
    const CopiedCell* cell = Find(id, CellState::kName);
    if (cell == nullptr) return false;
    const auto length = cell->Read<uint32_t>(offsetof(segment::NameCell, length));
    // A damaged length must not allocate that much memory.
    if (segment::NameTable::CellsFor(length) > table_.CellsOf(shard_).size()) return false;
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
  const TableCopy& table_;
  uint32_t shard_ = 0;  // that is read now
  std::vector<ProcessRef> alive_;
  Snapshot snapshot_;
};

}  // namespace

Result<Snapshot> TakeSnapshot(LockManager& manager, uint64_t timeout_ns) {
  TableCopy table(manager);
  const Status copied = table.Take(timeout_ns);
  if (!copied.ok()) return copied;
  return Reader(manager, table).Read();
}

}  // namespace holdfast::core
