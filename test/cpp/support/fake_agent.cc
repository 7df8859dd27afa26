#include "support/fake_agent.h"

#include "segment/event_list.h"

namespace holdfast::test {

bool FakeAgent::HasNews() const {
  return segment::HasEvents(machine_->segment().agent(self_.index));
}

Status FakeAgent::TakeNews() {
  segment::AgentEntry& entry = machine_->segment().agent(self_.index);
  std::vector<core::RecordNews> news;
  if (entry.rescan.ReadOrdered() != 0) {
    entry.rescan.Exchange(0);
    for (uint32_t shard = 0; shard < machine_->segment().geometry().shards; ++shard) {
      const Status done = manager().Rescan(self_, shard, news, news, kBudgetNs);
      if (!done.ok()) return done;
    }
  }
  core::TakeNews(machine_->segment(), self_.index, news);
  for (const core::RecordNews& record : news) {
    const Status done = Read(record);
    if (!done.ok()) return done;
  }
  return Status();
}

Status FakeAgent::Read(const core::RecordNews& news) {
  if (news.state == segment::CellState::kZombie) {
    return manager().End(news.record, kBudgetNs).status();
  }
  const auto it = mine_.find(news.request_id);
  if (it == mine_.end() || it->second.record.ticket != news.record.ticket) return Status();
  if (segment::IsLost(news.state)) return End(news.request_id);
  if (news.state == segment::CellState::kHeld && !it->second.is_held) {
    it->second.is_held = true;
    it->second.token = news.token;
  }
  return Status();
}

}  // namespace holdfast::test
