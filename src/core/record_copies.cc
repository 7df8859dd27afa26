#include "core/record_copies.h"

#include <algorithm>

#include "segment/kept_record.h"
#include "segment/name_table.h"

namespace holdfast::core {

using segment::CellId;
using segment::kNoCell;
using segment::NameCell;
using segment::RequestCell;
using segment::ShardLock;
using segment::ShardView;

namespace {

// Units of a name that fit; for a longer name the shard is entered again.
constexpr uint32_t kUnitsAtOnce = segment::kNameCellUnits + segment::kTextCellUnits;

// REQUIRES: `units` has room for them.
bool ReadName(const ShardView& shard, CellId id, const NameCell& name, uint32_t length,
              std::u16string& units) {
  segment::NameReader reader(shard, id, name);
  units.clear();
  for (uint32_t i = 0; i < length; ++i) {
    uint16_t unit = 0;
    if (!reader.Next(unit)) return false;
    units.push_back(static_cast<char16_t>(unit));
  }
  return true;
}

// A label or a call site.
void ReadText(const ShardView& shard, CellId first, uint32_t length, std::u16string& units) {
  units.clear();
  if (length > segment::kMaxLabelUnits) return;
  const segment::TextCell* text = shard.TextAt(first);
  while (text != nullptr && units.size() < length) {
    const auto here = std::min<size_t>(length - units.size(), segment::kTextCellUnits);
    for (size_t i = 0; i < here; ++i) {
      units.push_back(static_cast<char16_t>(text->units[i].Get()));
    }
    text = shard.TextAt(text->following.Get());
  }
}

}  // namespace

RecordCopies::RecordCopies(LockManager& manager, size_t max) : manager_(manager), copies_(max) {
  for (RecordCopy& copy : copies_) {
    copy.info.name.reserve(kUnitsAtOnce);
    copy.info.label.reserve(segment::kMaxLabelUnits);
    copy.info.call_site.reserve(segment::kMaxLabelUnits);
  }
}

void RecordCopies::Add(const ShardView& shard, CellId id, const RequestCell& request) {
  const CellId name_id = request.name.Get();
  const NameCell* const name = shard.NameAt(name_id);
  if (name == nullptr) return;
  RecordCopy& copy = copies_[count_];
  copy.record = {id, shard.index(), request.ticket.Get()};
  copy.process = manager_.segment().OwnerOf(request);
  copy.name_length = name->length.Get();
  const uint32_t here = std::min(copy.name_length, kUnitsAtOnce);
  if (!ReadName(shard, name_id, *name, here, copy.info.name)) return;
  ReadShown(request, copy.info);
  ReadText(shard, request.label.Get(), request.label_length.Get(), copy.info.label);
  ReadText(shard, request.call_site.Get(), request.call_site_length.Get(), copy.info.call_site);
  ++count_;
}

void RecordCopies::ReadShown(const RequestCell& request, LockInfo& info) const {
  segment::Segment& segment = manager_.segment();
  const uint16_t index = request.agent.Get();
  const bool has_agent = index < segment.geometry().agents;
  info.client_id[0] = has_agent ? segment.agent(index).client_id[0].Get() : 0;
  info.client_id[1] = has_agent ? segment.agent(index).client_id[1].Get() : 0;
  info.thread_id = has_agent ? segment.agent(index).thread_id.Get() : 0;
  const segment::ProcessRef process = segment.OwnerOf(request);
  const uint64_t own_namespace = segment.process(manager_.self().slot).pid_namespace.Get();
  const bool is_near = process.slot < segment.geometry().processes &&
                       segment.process(process.slot).pid_namespace.Get() == own_namespace;
  info.process_id = is_near ? segment.process(process.slot).process_id.Get() : 0;
  info.mode = request.mode.Get() == 0 ? LockMode::kExclusive : LockMode::kShared;
  info.limit = request.limit.Get();
  info.hold_limit_ns = request.hold_limit_ns.Get();
  info.requested_ms = request.requested_ms.Get();
  info.request_id = request.request_id.Get();
  info.enclosing_token = request.enclosing_token.Get();
  const bool is_held = request.state.Get() == segment::CellState::kHeld;
  info.token = is_held ? request.token.Get() : 0;
  info.granted_ms = is_held ? request.granted_ms.Get() : 0;
}

bool RecordCopies::Complete(size_t index, uint64_t timeout_ns) {
  RecordCopy& copy = copies_[index];
  // A corrupted length must not allocate that much memory.
  if (copy.name_length > manager_.segment().geometry().capacity / sizeof(char16_t)) return false;
  if (copy.info.name.size() == copy.name_length) return true;
  std::u16string name;
  name.reserve(copy.name_length);
  if (!ReadLongName(copy.record, name, timeout_ns)) return false;
  copy.info.name = std::move(name);
  return copy.info.name.size() == copy.name_length;
}

bool RecordCopies::ReadLongName(const RecordRef& record, std::u16string& name,
                                uint64_t timeout_ns) {
  WakeQueue wake_queue(manager_.segment(), manager_.host());
  const Result<ShardLock> lock = manager_.EnterForRead(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return false;
  const ShardView shard(manager_.segment(), record.shard);
  const RequestCell* const request = RequestOf(shard, record);
  if (request == nullptr) return false;
  const CellId id = request->name.Get();
  const NameCell* const cell = shard.NameAt(id);
  if (cell == nullptr || cell->length.Get() > name.capacity()) return false;
  return ReadName(shard, id, *cell, cell->length.Get(), name);
}

Result<std::vector<RecordCopy>> HoldersOf(LockManager& manager, const segment::ResourceName& name,
                                          uint32_t max, uint64_t timeout_ns) {
  RecordCopies copies(manager, max);
  {
    const uint32_t shard = name.ShardIn(manager.segment());
    WakeQueue wake_queue(manager.segment(), manager.host());
    const Result<ShardLock> lock = manager.EnterForRead(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(manager.segment(), shard);
    const segment::NameTable::Found found = segment::NameTable(view).Find(name);
    CellId id = found.cell == nullptr ? kNoCell : found.cell->held_head.Get();
    for (uint32_t steps = 0; id != kNoCell && steps < max; ++steps) {
      RequestCell* const holder = view.RequestAt(id);
      if (holder == nullptr) break;
      if (segment::Close(*holder) == segment::CellState::kHeld) copies.Add(view, id, *holder);
      id = holder->next.Get();
    }
  }
  std::vector<RecordCopy> holders;
  for (size_t i = 0; i < copies.size(); ++i) {
    holders.push_back(copies[i]);
    holders.back().info.name.assign(name.units(), name.length());
  }
  return holders;
}

}  // namespace holdfast::core
