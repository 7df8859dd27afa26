#include "core/snapshot.h"

#include <algorithm>
#include <utility>

#include "core/table_copy.h"
#include "segment/name_table.h"

namespace holdfast::core {

using segment::CellId;
using segment::CellState;
using segment::NameCell;
using segment::ProcessRef;
using segment::RequestCell;
using segment::TextCell;

namespace {

class Reader {
 public:
  Reader(LockManager& manager, const TableCopy& table) : manager_(manager), table_(table) {}

  Snapshot Read() {
    for (shard_ = 0; shard_ < manager_.segment().geometry().shards; ++shard_) ReadShard();
    return std::move(snapshot_);
  }

 private:
  static uint64_t TicketOf(const CopiedCell& cell) { return cell.As<RequestCell>().ticket.Get(); }

  void ReadShard() {
    std::vector<const CopiedCell*> requests;
    for (const CopiedCell& cell : table_.CellsOf(shard_)) {
      if (cell.IsShown()) requests.push_back(&cell);
    }
    std::sort(requests.begin(), requests.end(),
              [](const CopiedCell* a, const CopiedCell* b) { return TicketOf(*a) < TicketOf(*b); });
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
    const segment::ProcessEntry& entry = manager_.segment().process(process.slot);
    const segment::ProcessEntry& own = manager_.segment().process(manager_.self().slot);
    const bool is_near = entry.pid_namespace.Get() == own.pid_namespace.Get();
    info.process_id = is_near ? entry.process_id.Get() : 0;
    info.limit = request.limit.Get();
    info.hold_limit_ns = request.hold_limit_ns.Get();
    info.request_id = request.request_id.Get();
    info.enclosing_token = request.enclosing_token.Get();
    info.requested_ms = request.requested_ms.Get();
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
