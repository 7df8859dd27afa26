#include "core/wait_for_graph.h"

#include <algorithm>
#include <numeric>

#include "segment/biased_record.h"
#include "segment/layout.h"
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

RecordCopies::RecordCopies(LockTable& lock_table, size_t max)
    : lock_table_(lock_table), copies_(max) {
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
  copy.process = lock_table_.segment().OwnerOf(request);
  copy.name_length = name->length.Get();
  const uint32_t here = std::min(copy.name_length, kUnitsAtOnce);
  if (!ReadName(shard, name_id, *name, here, copy.info.name)) return;
  ReadShown(request, copy.info);
  ReadText(shard, request.label.Get(), request.label_length.Get(), copy.info.label);
  ReadText(shard, request.call_site.Get(), request.call_site_length.Get(), copy.info.call_site);
  ++count_;
}

void RecordCopies::ReadShown(const RequestCell& request, LockInfo& info) const {
  segment::Segment& segment = lock_table_.segment();
  const uint16_t index = request.agent.Get();
  const bool has_agent = index < segment.geometry().agents;
  info.client_id[0] = has_agent ? segment.agent(index).client_id[0].Get() : 0;
  info.client_id[1] = has_agent ? segment.agent(index).client_id[1].Get() : 0;
  info.thread_id = has_agent ? segment.agent(index).thread_id.Get() : 0;
  const segment::ProcessRef process = segment.OwnerOf(request);
  const uint64_t own_namespace = segment.process(lock_table_.self().slot).pid_namespace.Get();
  const bool is_near = process.slot < segment.geometry().processes &&
                       segment.process(process.slot).pid_namespace.Get() == own_namespace;
  info.process_id = is_near ? segment.process(process.slot).process_id.Get() : 0;
  info.mode = request.mode.Get() == 0 ? LockMode::kExclusive : LockMode::kShared;
  info.limit = request.limit.Get();
  info.hold_limit_ns = request.hold_limit_ns.Get();
  info.requested_ms = request.requested_ms.Get();
  info.position = segment::QueuePosition::FromWord(request.queue_position.Get());
  info.request_id = request.request_id.Get();
  info.enclosing_token = request.enclosing_token.Get();
  const bool is_held = request.state.Get() == segment::CellState::kHeld;
  info.token = is_held ? request.token.Get() : 0;
  info.granted_ms = is_held ? request.granted_ms.Get() : 0;
}

bool RecordCopies::Complete(size_t index, uint64_t timeout_ns) {
  RecordCopy& copy = copies_[index];
  // A corrupted length must not allocate that much memory.
  if (copy.name_length > lock_table_.segment().geometry().capacity / sizeof(char16_t)) return false;
  if (copy.info.name.size() == copy.name_length) return true;
  std::u16string name;
  name.reserve(copy.name_length);
  if (!ReadLongName(copy.record, name, timeout_ns)) return false;
  copy.info.name = std::move(name);
  return copy.info.name.size() == copy.name_length;
}

bool RecordCopies::ReadLongName(const RecordRef& record, std::u16string& name,
                                uint64_t timeout_ns) {
  WakeQueue wake_queue(lock_table_.segment(), lock_table_.host());
  const Result<ShardLock> lock = lock_table_.EnterForRead(record.shard, wake_queue, timeout_ns);
  if (!lock.ok()) return false;
  const ShardView shard(lock_table_.segment(), record.shard);
  const RequestCell* const request = RequestOf(shard, record);
  if (request == nullptr) return false;
  const CellId id = request->name.Get();
  const NameCell* const cell = shard.NameAt(id);
  if (cell == nullptr || cell->length.Get() > name.capacity()) return false;
  return ReadName(shard, id, *cell, cell->length.Get(), name);
}

Result<std::vector<RecordCopy>> HoldersOf(LockTable& lock_table, const segment::ResourceName& name,
                                          uint32_t max, uint64_t timeout_ns) {
  RecordCopies copies(lock_table, max);
  {
    const uint32_t shard = name.ShardIn(lock_table.segment());
    WakeQueue wake_queue(lock_table.segment(), lock_table.host());
    const Result<ShardLock> lock = lock_table.EnterForRead(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(lock_table.segment(), shard);
    const segment::NameTable::Found found = segment::NameTable(view).Find(name);
    CellId id = found.cell == nullptr ? kNoCell : found.cell->held_head.Get();
    for (uint32_t steps = 0; id != kNoCell && steps < max; ++steps) {
      RequestCell* const holder = view.RequestAt(id);
      if (holder == nullptr) break;
      if (segment::Revoke(*holder) == segment::CellState::kHeld) copies.Add(view, id, *holder);
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

uint64_t EnclosingTokenOf(uint64_t word) { return word & (segment::kTokenLimit - 1); }

void ThreadWaits::Add(const Entry& entry) {
  if (!keys_.insert(KeyOf(entry.record.shard, entry.record.ticket)).second) return;
  const size_t at = entries_.size();
  entries_.push_back(entry);
  by_enclosing_.emplace(EnclosingTokenOf(entry.info.enclosing_token), at);
}

std::vector<const ThreadWaits::Entry*> ThreadWaits::InsideOf(uint64_t token) const {
  std::vector<const Entry*> inside;
  const auto [begin, end] = by_enclosing_.equal_range(token);
  for (auto it = begin; it != end; ++it) inside.push_back(&entries_[it->second]);
  return inside;
}

using segment::AgentRef;
using segment::CellState;
using segment::ProcessRef;

namespace {

// The maximum number of records copied per entry, so that peers can use the shard in between.
constexpr size_t kRecordsPerCopy = 64;
// The maximum number of records skipped per entry. It grows if the position to continue at is lost,
// so that the walk ends.
constexpr uint32_t kStepsPerEntry = 512;
constexpr int kEntriesAtOnce = 4;

}  // namespace

WaitWalk::WaitWalk(LockTable& lock_table, Options options, std::vector<RecordRef> starts)
    : lock_table_(lock_table),
      options_(options),
      starts_(std::move(starts)),
      copies_(lock_table, kRecordsPerCopy) {
  // The last ones are read first, and the records of one shard together.
  std::sort(starts_.begin(), starts_.end(),
            [](const RecordRef& a, const RecordRef& b) { return a.shard < b.shard; });
}

Result<bool> WaitWalk::GoOn(uint64_t timeout_ns) {
  for (int entry = 0; entry < kEntriesAtOnce; ++entry) {
    if (AddReached()) continue;
    if (!starts_.empty()) {
      const Status read = ReadStarts(timeout_ns);
      if (!read.ok()) return read;
    } else if (!readings_.empty()) {
      const Result<bool> is_read = ReadPiece(readings_.front(), timeout_ns);
      if (!is_read.ok()) return is_read.status();
      // The readings that it added are behind it.
      if (*is_read) readings_.pop_front();
    } else {
      Sort();
      return true;
    }
  }
  return false;
}

Status WaitWalk::ReadStarts(uint64_t timeout_ns) {
  const uint32_t shard = starts_.back().shard;
  copies_.Clear();
  {
    WakeQueue wake_queue(lock_table_.segment(), lock_table_.host());
    const Result<ShardLock> lock = lock_table_.EnterForRead(shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(lock_table_.segment(), shard);
    while (!starts_.empty() && starts_.back().shard == shard && !copies_.IsFull()) {
      const RecordRef record = starts_.back();
      starts_.pop_back();
      const RequestCell* const request = RequestOf(view, record);
      if (request == nullptr || request->state.Get() != CellState::kWaiting) continue;
      copies_.Add(view, record.cell, *request);
    }
  }
  for (size_t i = 0; i < copies_.size(); ++i) {
    if (!copies_.Complete(i, timeout_ns)) continue;
    const RecordCopy& copy = copies_[i];
    Add(copy.record, copy.process, copy.info);
  }
  return Status();
}

// True: the list is complete.
Result<bool> WaitWalk::ReadPiece(Reading& reading, uint64_t timeout_ns) {
  copies_.Clear();
  bool is_read = false;
  {
    WakeQueue wake_queue(lock_table_.segment(), lock_table_.host());
    const Result<ShardLock> lock = lock_table_.EnterForRead(reading.shard, wake_queue, timeout_ns);
    if (!lock.ok()) return lock.status();
    const ShardView view(lock_table_.segment(), reading.shard);
    CellId id = NextOf(view, reading);
    for (uint32_t steps = 0; id != kNoCell && steps < reading.max_steps; ++steps) {
      const RequestCell* const request = view.RequestAt(id);
      if (copies_.IsFull()) break;
      // Corruption, which the next change of this list will find.
      if (request == nullptr || !IsIn(view, reading, *request)) id = kNoCell;
      if (id == kNoCell) break;
      if (IsNew(reading, *request)) copies_.Add(view, id, *request);
      reading.last = {id, reading.shard, request->ticket.Get()};
      id = reading.list == Reading::List::kThread ? request->agent_next.Get() : request->next.Get();
    }
    is_read = id == kNoCell;
  }
  // Adding to readings_ does not move this one.
  for (size_t i = 0; i < copies_.size(); ++i) {
    if (copies_.Complete(i, timeout_ns)) Keep(reading, copies_[i]);
  }
  if (!is_read || reading.list != Reading::List::kThread) return is_read;
  ThreadWaits& waits = threads_[reading.thread];
  if (--waits.open_readings > 0) return true;
  for (const uint64_t token : std::exchange(waits.holders, {})) Reach(reading.thread, token);
  return true;
}

// The record behind the last record read.
CellId WaitWalk::NextOf(const ShardView& shard, Reading& reading) const {
  if (reading.last.cell == kNoCell) return FirstOf(shard, reading);
  const RequestCell* const last = RequestOf(shard, reading.last);
  if (last != nullptr && IsIn(shard, reading, *last)) {
    return reading.list == Reading::List::kThread ? last->agent_next.Get() : last->next.Get();
  }
  reading.max_steps = std::min(2 * reading.max_steps, shard.MaxCells());
  return FirstOf(shard, reading);
}

CellId WaitWalk::FirstOf(const ShardView& shard, const Reading& reading) const {
  if (reading.list == Reading::List::kThread) {
    return lock_table_.segment().agent_list(reading.agent.index, reading.shard).Get();
  }
  const RequestCell* const anchor = RequestOf(shard, reading.anchor);
  const NameCell* const name = anchor == nullptr ? nullptr : shard.NameAt(anchor->name.Get());
  if (name == nullptr) return kNoCell;
  return reading.list == Reading::List::kHolders ? name->held_head.Get() : name->queue_head.Get();
}

bool WaitWalk::IsIn(const ShardView& shard, const Reading& reading,
                    const RequestCell& request) const {
  if (reading.list == Reading::List::kThread) {
    return request.agent.Get() == reading.agent.index &&
           request.agent_generation.Get() == reading.agent.generation;
  }
  const RequestCell* const anchor = RequestOf(shard, reading.anchor);
  const CellState state =
      reading.list == Reading::List::kHolders ? CellState::kHeld : CellState::kWaiting;
  return anchor != nullptr && request.state.Get() == state &&
         request.name.Get() == anchor->name.Get();
}

// The requests of a thread that may be inside a callback. The walk need not reach them.
bool WaitWalk::IsNew(const Reading& reading, const RequestCell& request) const {
  const uint64_t ticket = request.ticket.Get();
  if (reading.list != Reading::List::kThread) return !added_.contains({reading.shard, ticket});
  const CellState state = request.state.Get();
  return (state == CellState::kWaiting || state == CellState::kHeld) &&
         EnclosingTokenOf(request.enclosing_token.Get()) != 0 &&
         !threads_.at(reading.thread).Has(reading.shard, ticket);
}

void WaitWalk::Keep(const Reading& reading, const RecordCopy& copy) {
  if (reading.list == Reading::List::kThread) {
    threads_[reading.thread].Add({copy.record, copy.process, copy.info});
  } else {
    Add(copy.record, copy.process, copy.info);
  }
}

void WaitWalk::Add(const RecordRef& record, ProcessRef process, const LockInfo& info) {
  if (!added_.insert({record.shard, record.ticket}).second || !IsAlive(process)) return;
  found_.push_back(info);
  if (info.token == 0) return AddName(record, info);
  // A lock with a hold limit ends even if its holder waits.
  if (info.hold_limit_ns != 0) return;
  Reach({process.ToWord(), info.thread_id}, info.token);
}

void WaitWalk::AddName(const RecordRef& record, const LockInfo& info) {
  if (!names_.insert(info.name).second) return;
  Reading reading{.shard = record.shard, .anchor = record, .max_steps = kStepsPerEntry};
  readings_.push_back(reading);
  if (!options_.with_queues) return;
  reading.list = Reading::List::kQueue;
  readings_.push_back(reading);
}

// A holder was found: the requests that its thread made inside the callback belong to the walk.
void WaitWalk::Reach(const ThreadKey& key, uint64_t token) {
  if (!threads_.contains(key)) BeginThread(key);
  ThreadWaits& waits = threads_[key];
  if (waits.open_readings > 0) return waits.holders.push_back(token);
  const std::vector<const ThreadWaits::Entry*> inside = waits.InsideOf(token);
  reached_.insert(reached_.end(), inside.begin(), inside.end());
}

void WaitWalk::BeginThread(const ThreadKey& key) {
  segment::Segment& segment = lock_table_.segment();
  if (agents_.empty()) {
    for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
      const AgentRef agent = segment.AgentAt(i);
      if (agent.process.generation == 0) continue;
      agents_[{agent.process.ToWord(), segment.agent(i).thread_id.Get()}].push_back(agent);
    }
  }
  ThreadWaits& waits = threads_[key];
  for (const AgentRef& agent : agents_[key]) {
    for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
      if (segment.agent_list(agent.index, shard).Get() == kNoCell) continue;
      readings_.push_back({.list = Reading::List::kThread,
                           .shard = shard,
                           .agent = agent,
                           .thread = key,
                           .max_steps = kStepsPerEntry});
      ++waits.open_readings;
    }
  }
}

// False: there is nothing to add.
bool WaitWalk::AddReached() {
  if (reached_.empty()) return false;
  for (size_t i = 0; i < kRecordsPerCopy && !reached_.empty(); ++i) {
    const ThreadWaits::Entry* const entry = reached_.front();
    reached_.pop_front();
    Add(entry->record, entry->process, entry->info);
  }
  return true;
}

bool WaitWalk::IsAlive(ProcessRef process) {
  if (process == lock_table_.self()) return true;
  const auto [known, is_new] = is_alive_.try_emplace(process.ToWord(), false);
  if (is_new) known->second = lock_table_.host().IsAlive(process);
  return known->second;
}

void WaitWalk::Sort() {
  if (order_.size() == found_.size()) return;
  order_.resize(found_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
    return found_[a].position.order < found_[b].position.order;
  });
}

Snapshot WaitWalk::Take(size_t max) {
  Snapshot snapshot;
  for (; taken_ < order_.size() && max > 0; --max) {
    LockInfo& info = found_[order_[taken_++]];
    (info.token == 0 ? snapshot.pending : snapshot.held).push_back(std::move(info));
  }
  return snapshot;
}

}  // namespace holdfast::core
