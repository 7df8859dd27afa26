#include "core/record_news.h"

#include <algorithm>

#include "segment/event_list.h"

namespace holdfast::core {

RecordNews ReadNews(const segment::Segment& segment, segment::CellId id,
                    const segment::RequestCell& request) {
  RecordNews news;
  news.state = request.state.Acquire();
  news.record = {id, segment.ShardOfCell(id), request.ticket.Get()};
  news.request_id = request.request_id.Get();
  news.token = request.token.Get();
  return news;
}

void TakeNews(const segment::Segment& segment, uint32_t agent, std::vector<RecordNews>& news) {
  const auto first = static_cast<std::ptrdiff_t>(news.size());
  segment::EventReader events(segment, agent);
  segment::CellId id = segment::kNoCell;
  while (const segment::RequestCell* request = events.Next(id)) {
    news.push_back(ReadNews(segment, id, *request));
  }
  std::reverse(news.begin() + first, news.end());
}

}  // namespace holdfast::core
