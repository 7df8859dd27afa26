#include "support/fake_agent.h"

#include "segment/event_list.h"

namespace holdfast::test {

bool FakeAgent::HasEvents() const {
  return segment::HasEvents(machine_->segment().agent(self_.index));
}

Status FakeAgent::TakeEvents() {
  segment::AgentEntry& entry = machine_->segment().agent(self_.index);
  std::vector<core::RecordEvent> events;
  if (entry.rescan.LoadSeqCst() != 0) {
    entry.rescan.Exchange(0);
    for (uint32_t shard = 0; shard < machine_->segment().geometry().shards; ++shard) {
      const Status done = manager().Rescan(self_, shard, events, events, kShardTimeoutNs);
      if (!done.ok()) return done;
    }
  }
  core::TakeEvents(machine_->segment(), self_.index, events);
  for (const core::RecordEvent& record : events) {
    const Status done = Read(record);
    if (!done.ok()) return done;
  }
  return Status();
}

Status FakeAgent::Read(const core::RecordEvent& events) {
  if (events.state == segment::CellState::kZombie) {
    return manager().End(events.record, kShardTimeoutNs).status();
  }
  const auto it = mine_.find(events.request_id);
  if (it == mine_.end() || it->second.record.ticket != events.record.ticket) return Status();
  if (segment::IsLost(events.state)) return End(events.request_id);
  if (events.state == segment::CellState::kHeld && !it->second.is_held) {
    it->second.is_held = true;
    it->second.token = events.token;
  }
  return Status();
}

}  // namespace holdfast::test
