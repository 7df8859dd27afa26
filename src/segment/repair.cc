#include "segment/repair.h"

#include <algorithm>

#include "segment/lock_mode.h"
#include "segment/name_table.h"
#include "segment/record_pool.h"
#include "segment/request_list.h"

namespace holdfast::segment {
namespace {

// No segment lives so long that its counters get here: more is damage.
constexpr uint64_t kMost = uint64_t{1} << 62;

bool WasGranted(CellState state) {
  return state == CellState::kHeld || state == CellState::kStealing || state == CellState::kStolen;
}

bool UsesItsName(CellState state) {
  return state == CellState::kWaiting || state == CellState::kHeld;
}

}  // namespace

ShardRepair::ShardRepair(ShardView shard, Environment& environment)
    : shard_(shard),
      environment_(environment),
      names_(shard),
      kept_(shard.segment().geometry().cells()),
      life_(shard.segment().geometry().processes, Life::kUnknown) {}

std::vector<CellId> ShardRepair::Run() {
  shard_.MarkDamaged();  // until all is done, whoever enters starts again
  ReadRecords();
  MergeNames();
  DropRequestsWithoutName();
  std::sort(requests_.begin(), requests_.end(), [](const Request& a, const Request& b) {
    return a.ticket != b.ticket ? a.ticket < b.ticket : a.id < b.id;
  });
  // Of two with one ticket, one is damaged: who can say which?
  const auto is_same = [](const Request& a, const Request& b) { return a.ticket == b.ticket; };
  requests_.erase(std::unique(requests_.begin(), requests_.end(), is_same), requests_.end());
  SettleHolders();
  RaiseCounters();
  ClearIndex();
  LinkRequests();
  FreeTheRest();
  std::vector<CellId> names;
  for (const auto& [id, cell] : kept_names_) names.push_back(id);
  return names;
}

void ShardRepair::ReadRecords() {
  const Segment& segment = shard_.segment();
  const Geometry& geometry = segment.geometry();
  for (uint32_t extent = 0; extent < geometry.extents; ++extent) {
    if (segment.extent_owner(extent).Get() != shard_.index() + 1) continue;
    for (uint32_t i = 0; i < geometry.cells_per_extent; ++i) {
      ReadCell(segment.FirstCell(extent) + i, *segment.CellInExtent(extent, i));
    }
  }
}

// Sorts out one cell. What is not noted here is freed in the end.
void ShardRepair::ReadCell(CellId id, AnyCell& cell) {
  const CellState state = cell.state.Acquire();
  if (state == CellState::kName) {
    names_.Add(id, AsName(cell));
  } else if (IsRequestState(state)) {
    RequestCell& request = AsRequest(cell);
    const uint8_t mode = request.mode.Get();
    const uint16_t agent = request.agent.Get();
    const Request read{&request,
                       id,
                       request.name.Get(),
                       state,
                       request.ticket.Get(),
                       request.token.Get(),
                       agent,
                       mode == static_cast<uint8_t>(LockMode::kExclusive),
                       IsOwnerAlive(request, agent)};
    const bool is_sound = IsLockMode(mode) && read.ticket != 0 && read.ticket <= kMost &&
                          read.token <= kMost && (read.token != 0 || !WasGranted(state));
    // A steal that was begun is finished, even when its thief is dead.
    const bool counts = read.is_alive || state == CellState::kStealing;
    if (is_sound && counts) requests_.push_back(read);
  }
}

bool ShardRepair::IsOwnerAlive(const RequestCell& request, uint16_t agent) {
  const Segment& segment = shard_.segment();
  const ProcessRef process{request.process_slot.Get(), request.process_generation.Get()};
  if (!segment.IsNewest(process) || agent >= segment.geometry().agents) return false;
  if (segment.AgentAt(agent) != AgentRef{agent, request.agent_generation.Get(), process}) {
    return false;
  }
  Life& life = life_[process.slot];
  if (life == Life::kUnknown) {
    life = environment_.IsAlive(process) ? Life::kAlive : Life::kDead;
  }
  return life == Life::kAlive;
}

// Points every request to the one sound cell of its name.
void ShardRepair::MergeNames() {
  for (Request& request : requests_) {
    const CellId kept = names_.KeptAs(request.name);
    if (kept != kNoCell && kept != request.name) request.cell->name.Set(kept);
    request.name = kept;
  }
}

// Without its name a request is nothing that could be granted or released. Its agent finds the
// record gone when it rescans. A stolen one and a zombie have had their time with the name.
void ShardRepair::DropRequestsWithoutName() {
  std::erase_if(requests_, [](const Request& request) {
    const bool needs_name =
        request.state != CellState::kStolen && request.state != CellState::kZombie;
    return needs_name && request.name == kNoCell;
  });
}

// Rolls every steal forward, then leaves each name with holders that may hold it together: of two
// that may not, the older one keeps the lock.
void ShardRepair::SettleHolders() {
  struct Holders {
    uint64_t stolen_below = 0;
    uint32_t exclusive = 0;
    uint32_t shared = 0;
  };
  std::unordered_map<CellId, Holders> by_name;
  for (const Request& request : requests_) {
    if (request.state != CellState::kStealing) continue;
    Holders& holders = by_name[request.name];
    holders.stolen_below = std::max(holders.stolen_below, request.ticket);
  }
  for (Request& request : requests_) {
    const bool holds = request.state == CellState::kHeld || request.state == CellState::kStealing;
    if (!holds) continue;
    Holders& holders = by_name[request.name];
    const bool is_refused = request.ticket < holders.stolen_below || holders.exclusive > 0 ||
                            (request.is_exclusive && holders.shared > 0);
    request.state = is_refused ? CellState::kStolen : CellState::kHeld;
    // Victims first: they have the smaller tickets. Only then does the thief hold.
    if (!request.is_alive) continue;
    request.cell->state.Publish(request.state);
    if (!is_refused) ++(request.is_exclusive ? holders.exclusive : holders.shared);
  }
  std::erase_if(requests_, [](const Request& request) { return !request.is_alive; });
}

void ShardRepair::RaiseCounters() {
  ShardHeader& header = shard_.header();
  Shared<uint64_t>& last_token = shard_.segment().header().last_token;
  if (header.last_ticket.Get() > kMost) header.last_ticket.Set(0);
  for (const Request& request : requests_) {
    if (request.ticket > header.last_ticket.Get()) header.last_ticket.Set(request.ticket);
    uint64_t newest = last_token.Get();
    while (request.token > newest && !last_token.CompareExchange(newest, request.token)) {
    }
  }
}

void ShardRepair::ClearIndex() {
  const Segment& segment = shard_.segment();
  for (uint32_t i = 0; i < segment.geometry().buckets_per_shard; ++i) {
    segment.bucket(shard_.index(), i).Set(kNoCell);
  }
}

NameCell& ShardRepair::KeepName(CellId id) {
  const auto [it, is_new] = kept_names_.try_emplace(id, nullptr);
  if (!is_new) return *it->second;
  NameCell& name = AsName(*shard_.segment().CellByNumber(id - 1));
  it->second = &name;
  Keep(id);
  Shared<CellId>* link = &name.text;
  for (uint32_t left = NameTable::CellsFor(name.length.Get()) - 1; left > 0; --left) {
    const CellId text_id = link->Get();
    TextCell* const text = shard_.TextAt(text_id);
    if (text == nullptr) break;
    Keep(text_id);
    link = &text->following;
  }
  link->Set(kNoCell);
  name.queue_head.Set(kNoCell);
  name.queue_tail.Set(kNoCell);
  name.held_head.Set(kNoCell);
  name.held_tail.Set(kNoCell);
  name.held_exclusive.Set(0);
  name.held_shared.Set(0);
  NameTable(shard_).Link(id, name);
  return name;
}

void ShardRepair::LinkRequests() {
  const Segment& segment = shard_.segment();
  std::vector<CellId> firsts(segment.geometry().agents, kNoCell);
  for (const Request& request : requests_) {
    Keep(request.id);
    CellId& first = firsts[request.agent];
    request.cell->agent_next.Set(first);
    request.cell->agent_previous.Set(kNoCell);
    if (first != kNoCell)
      AsRequest(*segment.CellByNumber(first - 1)).agent_previous.Set(request.id);
    first = request.id;
    if (!UsesItsName(request.state)) continue;
    NameCell& name = KeepName(request.name);
    if (request.state == CellState::kWaiting) {
      RequestList::Queue(shard_, name).Append(request.id, *request.cell);
    } else {
      RequestList::Held(shard_, name).Append(request.id, *request.cell);
      Shared<uint32_t>& count = request.is_exclusive ? name.held_exclusive : name.held_shared;
      count.Set(count.Get() + 1);
    }
  }
  // Whether an agent has anything here is also asked without the shard lock: its list must not be
  // empty in between.
  for (uint32_t agent = 0; agent < segment.geometry().agents; ++agent) {
    segment.agent_list(agent, shard_.index()).Set(firsts[agent]);
  }
}

void ShardRepair::FreeTheRest() {
  const Segment& segment = shard_.segment();
  const Geometry& geometry = segment.geometry();
  ShardHeader& header = shard_.header();
  header.free_head.Set(kNoCell);
  header.free_count.Set(0);
  header.used_count.Set(0);
  RecordPool pool(shard_);
  for (uint32_t extent = geometry.extents; extent-- > 0;) {
    if (segment.extent_owner(extent).Get() != shard_.index() + 1) continue;
    for (uint32_t i = geometry.cells_per_extent; i-- > 0;) {
      header.used_count.Set(header.used_count.Get() + 1);
      const CellId id = segment.FirstCell(extent) + i;
      if (!kept_[id - 1]) pool.Give(id, *segment.CellInExtent(extent, i));
    }
  }
}

}  // namespace holdfast::segment
