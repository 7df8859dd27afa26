#include "core/request_record.h"

#include "platform/clock.h"
#include "segment/event_list.h"
#include "segment/record_pool.h"

namespace holdfast::core {

using segment::CellId;
using segment::kNoCell;
using segment::RecordPool;
using segment::RequestCell;
using segment::ShardHeader;
using segment::ShardView;
using segment::Shared;
using segment::TextPieces;

namespace {

// False: corrupted.
bool WriteText(const ShardView& shard, CellId id, std::u16string_view text, Shared<CellId>& first,
               Shared<uint8_t>& stored_length) {
  if (text.empty()) return true;
  const uint32_t length = TextLength(text);
  stored_length.Set(static_cast<uint8_t>(length));
  return TextPieces(shard, id).Write(text.data(), length, first);
}

}  // namespace

CellId TakeRecord(const ShardView& shard, const segment::AgentRef& agent,
                  const RequestParams& request, CellId name_id) {
  const CellId id = RecordPool(shard).Allocate();
  if (id == kNoCell) return kNoCell;
  RequestCell& record = segment::AsRequest(*shard.segment().CellByNumber(id - 1));
  ShardHeader& header = shard.header();
  const uint64_t ticket = header.last_ticket.Get() + 1;
  header.last_ticket.Set(ticket);
  record.name.Set(name_id);
  record.ticket.Publish(ticket);  // ReadEvent: not seen before the end of the record before
  record.token.Set(0);
  record.process_slot.Set(agent.process.slot);
  record.agent.Set(agent.index);
  record.process_generation.Set(agent.process.generation);
  record.agent_generation.Set(agent.generation);
  record.request_id.Set(request.request_id);
  record.mode.Set(static_cast<uint8_t>(request.mode));
  record.contention.Set(segment::Contention::kUnwatched);
  record.event_next.Set(segment::kNotLinked);
  record.limit.Set(request.limit);
  record.hold_limit_ns.Set(request.hold_limit_ns);
  record.requested_ms.Set(request.now_ms);
  record.queue_position.Set(segment::QueuePosition{ticket, 0, request.priority}.ToWord());
  record.enclosing_token.Set(request.enclosing_token);
  record.label.Set(kNoCell);
  record.call_site.Set(kNoCell);
  const bool is_whole =
      WriteText(shard, id, request.label, record.label, record.label_length) &&
      WriteText(shard, id, request.call_site, record.call_site, record.call_site_length);
  return is_whole ? id : kNoCell;
}

// If two threads find it corrupted, one of them stores the new value.
uint64_t TokenAfterCorruption(segment::Segment& segment, segment::Host& host) {
  Shared<uint64_t>& last = segment.header().last_token;
  const uint64_t base = segment::TokenAt(host.RealtimeMs() * kNsPerMs);
  for (uint64_t seen = last.Get(); seen < segment::kFirstToken || seen >= segment::kTokenLimit;) {
    if (last.CompareExchange(seen, base)) break;
  }
  return last.FetchAdd(1) + 1;
}

void StampHold(segment::Host& host, RequestCell& request) {
  request.granted_clock.Set(host.ClockId());
  request.granted_ns.Set(host.MonotonicNs());
}

}  // namespace holdfast::core
