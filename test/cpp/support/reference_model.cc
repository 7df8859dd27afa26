#include "support/reference_model.h"

#include "segment/lock_mode.h"
#include "segment/name_table.h"
#include "segment/shard_view.h"

namespace holdfast::test {

using segment::CellId;
using segment::CellState;
using segment::RequestCell;
using segment::ShardView;

namespace {

std::u16string ReadName(const ShardView& shard, CellId id) {
  std::u16string units;
  const segment::NameCell* const name = shard.NameAt(id);
  if (name == nullptr) return u"(no name)";
  segment::NameReader reader(shard, id, *name);
  for (uint32_t i = 0; i < name->length.Get(); ++i) {
    uint16_t unit = 0;
    if (!reader.Next(unit)) return u"(broken name)";
    units.push_back(static_cast<char16_t>(unit));
  }
  return units;
}

std::u16string ReadLabel(const ShardView& shard, const RequestCell& request) {
  std::u16string units;
  CellId id = request.label.Get();
  for (uint32_t left = request.label_length.Get(); id != segment::kNoCell && left > 0;) {
    const segment::TextCell* const text = shard.TextAt(id);
    if (text == nullptr) return u"(broken label)";
    for (uint32_t i = 0; i < segment::kTextCellUnits && left > 0; ++i, --left) {
      units.push_back(static_cast<char16_t>(text->units[i].Get()));
    }
    id = text->following.Get();
  }
  return units;
}

std::string ToText(const ModelRequest& request) {
  std::string text = std::to_string(request.id) + (request.is_exclusive ? "x" : "s");
  if (request.limit != 0) text += std::to_string(request.limit);
  if (request.has_hold_limit) text += "h";
  if (!request.label.empty()) text += "l" + std::to_string(request.label.size());
  return text + "@" + std::to_string(request.agent);
}

std::string ToText(const ReferenceModel::Lost& lost) {
  return ToText(lost.request) + (lost.is_expired ? " expired" : " stolen");
}

void Print(const char* title, const auto& requests, std::string& text) {
  text += title;
  for (const auto& request : requests) text += " " + ToText(request);
}

}  // namespace

ReferenceModel ReferenceModel::Read(segment::Segment& segment) {
  ReferenceModel model;
  for (uint32_t index = 0; index < segment.geometry().shards; ++index) {
    const ShardView shard(segment, index);
    std::map<uint64_t, const RequestCell*> by_order;
    for (CellId id = 1; id <= segment.geometry().cells(); ++id) {
      const RequestCell* const request = shard.RequestAt(id);
      if (request != nullptr) by_order.emplace(request->queue_position.Get(), request);
    }
    for (const auto& [word, cell] : by_order) {
      const auto position = segment::QueuePosition::FromWord(word);
      const ModelRequest request{cell->request_id.Get(),
                                 cell->agent.Get(),
                                 cell->mode.Get() == static_cast<uint8_t>(LockMode::kExclusive),
                                 cell->limit.Get(),
                                 cell->hold_limit_ns.Get() != 0,
                                 ReadLabel(shard, *cell),
                                 position.priority};
      const CellState state = cell->state.Get();
      if (segment::IsLost(state)) model.lost_.insert({request, state == CellState::kExpired});
      if (state == CellState::kWaiting) {
        model.resources_[ReadName(shard, cell->name.Get())].queue.push_back(request);
        model.overtakes_[request.id] = position.overtakes;
      } else if (state == CellState::kHeld || segment::IsBiasedHeld(state)) {
        model.resources_[ReadName(shard, cell->name.Get())].held.insert(request);
      }
    }
  }
  return model;
}

bool ReferenceModel::HasOvertakesOf(const ReferenceModel& other) const {
  for (const auto& [name, resource] : resources_) {
    for (const ModelRequest& request : resource.queue) {
      if (OvertakesOf(request.id) != other.OvertakesOf(request.id)) return false;
    }
  }
  return true;
}

bool ReferenceModel::IsHeld(uint32_t id) const {
  for (const auto& [name, resource] : resources_) {
    for (const ModelRequest& request : resource.held) {
      if (request.id == id) return true;
    }
  }
  return false;
}

bool ReferenceModel::IsQueued(uint32_t id) const {
  for (const auto& [name, resource] : resources_) {
    for (const ModelRequest& request : resource.queue) {
      if (request.id == id) return true;
    }
  }
  return false;
}

std::string ReferenceModel::ToString() const {
  std::string text;
  for (const auto& [name, resource] : resources_) {
    text += "name of " + std::to_string(name.size()) + " units";
    if (!name.empty()) text += " beginning with " + std::to_string(static_cast<int>(name[0]));
    Print(": held", resource.held, text);
    Print(", queue", resource.queue, text);
    text += "\n";
  }
  Print("lost", lost_, text);
  return text;
}

}  // namespace holdfast::test
