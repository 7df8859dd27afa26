#include "support/fake_agent.h"

#include "core/request_record.h"
#include "segment/biased_record.h"
#include "segment/event_list.h"

namespace holdfast::test {

bool FakeAgent::HasEvents() const {
  return segment::HasEvents(machine_->segment().agent(self_.index));
}

segment::RequestCell& FakeAgent::RecordOf(const core::RecordRef& record) const {
  return segment::AsRequest(*machine_->segment().CellByNumber(record.cell - 1));
}

bool FakeAgent::EndOrBias(uint32_t id) {
  const core::RecordRef record = mine_.at(id).record;
  mine_.erase(id);
  segment::CellState state = segment::CellState::kFree;
  const Result<bool> is_biased = lock_table().EndOrBias(record, timeout_ns_, state);
  if (!is_biased.ok() || !*is_biased) return false;
  biased_[id] = record;
  return true;
}

bool FakeAgent::AcquireBiased(uint32_t id, LockMode mode) {
  const auto it = biased_.find(id);
  if (it == biased_.end()) return false;
  const core::RecordRef& record = it->second;
  const uint64_t token = core::NextToken(machine_->segment(), *host_);
  const segment::Hold hold{token, host_->RealtimeMs(), static_cast<uint8_t>(mode)};
  if (!segment::AcquireBiased(RecordOf(record), record.ticket, hold)) return false;
  mine_[id] = {record, true, token, {}};
  return true;
}

bool FakeAgent::ReleaseBiased(uint32_t id) {
  const core::RecordRef record = biased_.at(id);  // a copy: End() forgets it
  if (segment::ReleaseBiased(RecordOf(record), record.ticket)) {
    mine_.erase(id);
    return true;
  }
  (void)End(id);
  return false;
}

void FakeAgent::FreeBiased(uint32_t id) {
  const auto it = biased_.find(id);
  if (it == biased_.end()) return;
  const core::RecordRef record = it->second;
  biased_.erase(it);
  mine_.erase(id);
  (void)lock_table().End(record, timeout_ns_);
}

Status FakeAgent::TakeEvents() {
  segment::AgentEntry& entry = machine_->segment().agent(self_.index);
  std::vector<core::RecordEvent> events;
  if (entry.rescan.LoadSeqCst() != 0) {
    entry.rescan.Exchange(0);
    for (uint32_t shard = 0; shard < machine_->segment().geometry().shards; ++shard) {
      core::LockTable::RescanPosition position;
      position.max_records = 2;
      while (!position.is_complete) {
        const Status done =
            lock_table().Rescan(self_, shard, position, events, events, timeout_ns_);
        if (!done.ok()) return done;
      }
    }
  }
  core::TakeEvents(machine_->segment(), self_.index, events);
  for (const core::RecordEvent& record : events) {
    const Status done = Read(record);
    if (!done.ok()) return done;
  }
  return Status();
}

bool FakeAgent::MissesContention() const {
  return std::any_of(mine_.begin(), mine_.end(), [this](const auto& item) {
    const Mine& mine = item.second;
    const segment::RequestCell& record = RecordOf(mine.record);
    const segment::Contention contention = record.contention.Get();
    return mine.is_held && record.ticket.Get() == mine.record.ticket &&
           record.state.Get() == segment::CellState::kHeld &&
           contention != segment::Contention::kUnwatched && contention != mine.contention;
  });
}

Status FakeAgent::Read(const core::RecordEvent& events) {
  if (events.state == segment::CellState::kZombie) {
    return lock_table().End(events.record, timeout_ns_).status();
  }
  const auto it = mine_.find(events.request_id);
  if (it == mine_.end() || it->second.record.ticket != events.record.ticket) return Status();
  if (segment::IsLost(events.state)) return End(events.request_id);
  if (events.state == segment::CellState::kHeld && !it->second.is_held) {
    it->second.is_held = true;
    it->second.token = events.token;
  }
  const segment::Contention contention = RecordOf(events.record).contention.Get();
  if (events.state == segment::CellState::kHeld && contention != segment::Contention::kUnwatched) {
    it->second.contention = contention;
  }
  return Status();
}

}  // namespace holdfast::test
