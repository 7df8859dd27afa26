#include "segment/publication_list.h"

#include <algorithm>
#include <utility>

namespace holdfast::segment {
namespace {

char16_t* TextIn(Segment& segment, CellId id) {
  return reinterpret_cast<char16_t*>(segment.CellByNumber(id - 1));
}

uint64_t UnitsOf(const OperationCell& operation, uint32_t& name, uint32_t& label, uint32_t& site) {
  name = operation.name_length.Get();
  label = operation.label_length.Get();
  site = operation.call_site_length.Get();
  return uint64_t{name} + label + site;
}

}  // namespace

OperationCell* OperationAt(Segment& segment, CellId id) {
  const uint32_t number = id - 1;  // kNoCell becomes the largest number
  const uint32_t extent = number / segment.geometry().cells_per_extent;
  const uint32_t index = number % segment.geometry().cells_per_extent;
  if (!segment.IsClaimed(extent) || index >= OperationsPerExtent(segment.geometry())) {
    return nullptr;
  }
  return &AsOperation(*segment.CellByNumber(number));
}

void WriteTexts(Segment& segment, OperationCell& operation, CellId text_at,
                const OperationTexts& texts) {
  operation.text.Set(text_at);
  operation.name_length.Set(static_cast<uint32_t>(texts.name.size()));
  operation.label_length.Set(static_cast<uint16_t>(texts.label.size()));
  operation.call_site_length.Set(static_cast<uint16_t>(texts.call_site.size()));
  if (texts.units() == 0) return;
  char16_t* to = TextIn(segment, text_at);
  for (const std::u16string_view text : {texts.name, texts.label, texts.call_site}) {
    to = std::copy(text.begin(), text.end(), to);
  }
}

bool ReadTexts(Segment& segment, CellId id, const OperationCell& operation, OperationTexts& texts) {
  uint32_t name = 0;
  uint32_t label = 0;
  uint32_t site = 0;
  const uint64_t units = UnitsOf(operation, name, label, site);
  if (units == 0) return true;
  const uint32_t per_extent = segment.geometry().cells_per_extent;
  const uint32_t text = operation.text.Get() - 1;
  const uint64_t cells = (units + kOperationTextUnits - 1) / kOperationTextUnits;
  const bool is_inside = text / per_extent == (id - 1) / per_extent &&
                         text % per_extent >= OperationsPerExtent(segment.geometry()) &&
                         text % per_extent + cells <= per_extent;
  if (!is_inside || label > kMaxLabelUnits || site > kMaxLabelUnits) return false;
  const char16_t* const from = TextIn(segment, text + 1);
  texts = {{from, name}, {from + name, label}, {from + name + label, site}};
  return true;
}

// The number first: an agent that starts after this call has returned gets a larger one.
void PushOperation(Segment& segment, CellId id, OperationCell& operation) {
  const uint32_t index = operation.shard.Get();
  ShardHeader& shard = segment.shard(index);
  operation.number.Set(OperationNumber(index, shard.publication_count.FetchAdd(1) + 1));
  // If the agent dies before this store, it has requested nothing. After it, the operation counts;
  // unless the process dies, and a repair finds it dead: then it leaves the operation out.
  operation.state.Publish(OperationState::kPending);
  CellId head = shard.publications.Get();
  do {
    operation.next.Set(head);
  } while (!shard.publications.CompareExchange(head, id));
}

// Reverses the links, which no other thread reads any more.
PublicationReader::PublicationReader(const ShardView& shard) : shard_(shard) {
  CellId id = shard_.header().publications.Exchange(kNoCell);
  for (uint32_t steps = 0; id != kNoCell; ++steps) {
    OperationCell* const operation = Check(id);
    if (operation == nullptr || steps > shard_.MaxCells()) {
      shard_.MarkCorrupted();
      return;
    }
    const CellId older = operation->next.Get();
    operation->next.Set(next_);
    next_ = std::exchange(id, older);
  }
}

OperationCell* PublicationReader::Next(CellId& id) {
  // The repair finds corrupted operations without the links.
  if (next_ == kNoCell || shard_.header().dirty.Get() != 0) return nullptr;
  OperationCell* const operation = Check(next_);
  if (operation == nullptr) {
    shard_.MarkCorrupted();
    return nullptr;
  }
  id = std::exchange(next_, operation->next.Get());
  return operation;
}

OperationCell* PublicationReader::Check(CellId id) const {
  OperationCell* const operation = OperationAt(shard_.segment(), id);
  if (operation == nullptr || operation->shard.Get() != shard_.index()) return nullptr;
  const OperationState state = operation->state.Acquire();
  const bool is_pushed = state == OperationState::kPending || state == OperationState::kExecuted;
  return is_pushed ? operation : nullptr;
}

// An operation numbered above the limit is pushed after the exchange, so it is not lost. It is too
// early to execute it here: an earlier operation may have been pushed without being seen.
std::vector<OperationRef> FindOperations(const ShardView& shard) {
  Segment& segment = shard.segment();
  shard.header().publications.Exchange(kNoCell);
  const uint64_t limit = OperationNumber(shard.index(), shard.header().publication_count.LoadRmw());
  std::vector<OperationRef> found;
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    if (!segment.IsClaimed(extent)) continue;
    for (uint32_t i = 0; i < OperationsPerExtent(segment.geometry()); ++i) {
      const CellId id = segment.FirstCell(extent) + i;
      const OperationCell* const operation = OperationAt(segment, id);
      if (operation == nullptr) continue;
      const bool is_pending = operation->state.Acquire() == OperationState::kPending &&
                              operation->shard.Get() == shard.index();
      const uint64_t number = operation->number.Get();
      if (is_pending && number <= limit) found.push_back({id, number});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const OperationRef& a, const OperationRef& b) { return a.number < b.number; });
  return found;
}

void NoteAgentsOf(const ShardView& shard, std::vector<bool>& agents) {
  Segment& segment = shard.segment();
  for (uint32_t extent = 0; extent < segment.geometry().extents; ++extent) {
    if (!segment.IsClaimed(extent)) continue;
    for (uint32_t i = 0; i < OperationsPerExtent(segment.geometry()); ++i) {
      const OperationCell* const operation = OperationAt(segment, segment.FirstCell(extent) + i);
      if (operation == nullptr || operation->shard.Get() != shard.index()) continue;
      const uint16_t agent = operation->agent.Get();
      if (agent < agents.size()) agents[agent] = true;
    }
  }
}

// An operation of a dead process may stay kPending for ever, and another process may own its cell
// by now. Also, the operation may have been executed, and its cell reused for another shard. The
// agent is read first. If it belongs to a later operation in the cell, the state read after it is
// not kPending yet, or the number is later. The read-modify-write keeps that order. No two
// operations have one number: if both reads find it, the state between them is this operation's.
OperationCell* PendingOperation(const ShardView& shard, const OperationRef& found) {
  OperationCell* const operation = OperationAt(shard.segment(), found.id);
  if (operation == nullptr || AgentOf(shard.segment(), *operation).generation == 0) return nullptr;
  const bool is_it = operation->number.LoadRmw() == found.number &&
                     operation->shard.Acquire() == shard.index() &&
                     operation->state.Acquire() == OperationState::kPending &&
                     operation->number.Get() == found.number;
  return is_it ? operation : nullptr;
}

AgentRef AgentOf(const Segment& segment, const OperationCell& operation) {
  const uint32_t generation = operation.agent_generation.Acquire();
  const AgentRef agent{operation.agent.Get(),
                       generation,
                       {operation.process_slot.Get(), operation.process_generation.Get()}};
  const bool is_there = agent.index < segment.geometry().agents && agent.generation != 0 &&
                        segment.AgentAt(agent.index) == agent;
  return is_there ? agent : AgentRef{};
}

}  // namespace holdfast::segment
