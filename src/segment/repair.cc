#include "segment/repair.h"

#include <algorithm>

#include "platform/clock.h"
#include "segment/biased_record.h"
#include "segment/lock_mode.h"
#include "segment/name_table.h"
#include "segment/priority.h"
#include "segment/record_pool.h"
#include "segment/request_list.h"
#include "segment/watch_ring.h"

namespace holdfast::segment {

void IntactNames::Add(CellId id, const NameCell& cell) {
  const Name name{id, &cell};
  if (!IsIntact(name)) return;
  const uint64_t hash = cell.hash.Get();
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!HaveEqualUnits(name, it->second)) continue;
    cells_of_names_.emplace(id, it->second.id);
    return;
  }
  by_hash_.emplace(hash, name);
  cells_of_names_.emplace(id, id);
}

CellId IntactNames::CellOfName(CellId id) const {
  const auto it = cells_of_names_.find(id);
  return it == cells_of_names_.end() ? kNoCell : it->second;
}

// Each piece belongs to one position of one name: no piece is read twice.
bool IntactNames::HasItsPieces(const Name& name) {
  CellId id = name.cell->text.Get();
  for (uint32_t left = NameTable::CellsFor(name.cell->length.Get()) - 1; left > 0; --left) {
    const TextCell* const text = shard_.TextAt(id);
    if (text == nullptr || text->owner.Get() != name.id || pieces_[id - 1]) return false;
    pieces_[id - 1] = true;
    id = text->following.Get();
  }
  return true;
}

// A name is kept if its units match its stored hash, and if the hash belongs to this shard.
bool IntactNames::IsIntact(const Name& name) {
  const uint32_t length = name.cell->length.Get();
  const uint32_t shards = shard_.segment().geometry().shards;
  if (NameTable::CellsFor(length) > shard_.MaxCells() || !HasItsPieces(name)) return false;
  NameReader reader(shard_, name.id, *name.cell);
  NameHasher hasher(shard_.segment().name_key());
  for (uint32_t i = 0; i < length; ++i) {
    uint16_t unit = 0;
    if (!reader.Next(unit)) return false;
    hasher.Add(unit);
  }
  const uint64_t hash = hasher.Finish(length);
  return hash == name.cell->hash.Get() && ShardOfHash(hash, shards) == shard_.index();
}

bool IntactNames::HaveEqualUnits(const Name& a, const Name& b) const {
  const uint32_t length = a.cell->length.Get();
  if (length != b.cell->length.Get()) return false;
  NameReader a_reader(shard_, a.id, *a.cell);
  NameReader b_reader(shard_, b.id, *b.cell);
  for (uint32_t i = 0; i < length; ++i) {
    uint16_t a_unit = 0;
    uint16_t b_unit = 0;
    if (!a_reader.Next(a_unit) || !b_reader.Next(b_unit) || a_unit != b_unit) return false;
  }
  return true;
}

namespace {

// No real ticket or order reaches this value: it and larger ones are corruption.
constexpr uint64_t kTicketLimit = uint64_t{1} << 54;

bool WasGranted(CellState state) {
  return state == CellState::kHeld || state == CellState::kStealing || IsLost(state);
}

bool UsesItsName(CellState state) {
  return state == CellState::kWaiting || state == CellState::kHeld;
}

}  // namespace

ShardRepair::ShardRepair(ShardView shard, Host& host)
    : shard_(shard),
      host_(host),
      names_(shard),
      referenced_(shard.segment().geometry().cells()),
      life_(shard.segment().geometry().processes, Life::kUnknown) {}

std::vector<CellId> ShardRepair::Run() {
  shard_.MarkCorrupted();  // until the repair is complete, the next process to enter starts again
  ReadRecords();
  MergeNames();
  DropRequestsWithoutName();
  std::sort(requests_.begin(), requests_.end(), [](const Request& a, const Request& b) {
    return a.ticket != b.ticket ? a.ticket < b.ticket : a.id < b.id;
  });
  // Of two requests with one ticket, one is corrupted, and it is unknown which.
  const auto is_same = [](const Request& a, const Request& b) { return a.ticket == b.ticket; };
  requests_.erase(std::unique(requests_.begin(), requests_.end(), is_same), requests_.end());
  SettleHolders();
  RaiseCounters();
  ClearIndex();
  LinkRequests();
  FreeTheRest();
  std::vector<CellId> names;
  for (const auto& [id, cell] : biased_names_) names.push_back(id);
  return names;
}

void ShardRepair::ReadRecords() {
  Segment& segment = shard_.segment();
  const Geometry& geometry = segment.geometry();
  for (uint32_t extent = 0; extent < geometry.extents; ++extent) {
    if (!segment.IsExtentOf(shard_.index(), extent)) continue;
    for (uint32_t i = 0; i < geometry.cells_per_extent; ++i) {
      ReadCell(segment.FirstCell(extent) + i, *segment.CellInExtent(extent, i));
    }
  }
}

// Classifies one cell. Cells that are not recorded here are freed at the end.
void ShardRepair::ReadCell(CellId id, AnyCell& cell) {
  CellState state = cell.state.Acquire();
  if (state == CellState::kName) {
    names_.Add(id, AsName(cell));
  } else if (IsRequest(cell, state)) {
    RequestCell& request = AsRequest(cell);
    state = Revoke(request);
    const uint8_t mode = request.mode.Get();
    const uint16_t agent = request.agent.Get();
    const Request read{&request,
                       id,
                       request.name.Get(),
                       state,
                       request.ticket.Get(),
                       QueuePosition::FromWord(request.queue_position.Get()).order,
                       request.token.Get(),
                       request.limit.Get(),
                       agent,
                       mode == static_cast<uint8_t>(LockMode::kExclusive),
                       IsOwnerAlive(request, agent)};
    const bool is_valid = IsRequestState(state) && IsLockMode(mode) && read.ticket != 0 &&
                          read.ticket < kTicketLimit && read.token < kTokenLimit &&
                          (read.token != 0 || !WasGranted(state));
    // A steal that began is completed, even if its stealer is dead.
    const bool counts = read.is_alive || state == CellState::kStealing;
    if (read.is_alive) RestoreOwner(request);
    if (is_valid && counts) requests_.push_back(read);
    if (is_valid && !counts) NoteDeath(read);
  }
}

// The entry of its agent names the owner.
void ShardRepair::RestoreOwner(RequestCell& request) {
  const uint32_t generation = shard_.segment().OwnerOf(request).generation;
  if (request.process_generation.Get() != generation) request.process_generation.Set(generation);
}

// A repair that restarts after a death reports the event again.
void ShardRepair::NoteDeath(const Request& request) {
  const NameCell* const name = shard_.NameAt(request.name);
  if (name == nullptr || !UsesItsName(request.state)) return;
  WatchRingWriter(shard_, true).Write(host_, LockEvent::kDied, *request.cell, *name);
}

bool ShardRepair::IsOwnerAlive(const RequestCell& request, uint16_t agent) {
  Segment& segment = shard_.segment();
  const ProcessRef process = segment.OwnerOf(request);
  if (!segment.IsNewest(process) || agent >= segment.geometry().agents) return false;
  if (segment.AgentAt(agent) != AgentRef{agent, request.agent_generation.Get(), process}) {
    return false;
  }
  Life& life = life_[process.slot];
  if (life == Life::kUnknown) {
    life = host_.IsAlive(process) ? Life::kAlive : Life::kDead;
  }
  return life == Life::kAlive;
}

// Points every request to the one valid cell of its name.
void ShardRepair::MergeNames() {
  for (Request& request : requests_) {
    const CellId merged = names_.CellOfName(request.name);
    if (merged != kNoCell && merged != request.name) request.cell->name.Set(merged);
    request.name = merged;
  }
}

// A request without its name can be neither granted nor released. Its agent finds the record gone
// when it rescans. Stolen requests and zombies need no name any more.
void ShardRepair::DropRequestsWithoutName() {
  std::erase_if(requests_, [](const Request& request) {
    const bool needs_name = UsesItsName(request.state) || request.state == CellState::kStealing;
    return needs_name && request.name == kNoCell;
  });
}

// Completes every steal, then leaves each name with compatible holders: of two that are not, the
// one granted first keeps the lock.
void ShardRepair::SettleHolders() {
  struct Holders {
    uint64_t stolen_below = 0;
    uint32_t exclusive = 0;
    uint32_t shared = 0;
  };
  std::unordered_map<CellId, Holders> by_name;
  std::vector<Request*> claims;
  for (Request& request : requests_) {
    if (request.state == CellState::kHeld) claims.push_back(&request);
    if (request.state != CellState::kStealing) continue;
    Holders& holders = by_name[request.name];
    holders.stolen_below = std::max(holders.stolen_below, request.ticket);
    claims.push_back(&request);
  }
  // Tokens rise with each grant, so limits are applied in the order of the grants.
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Request* a, const Request* b) { return a->token < b->token; });
  for (Request* const request : claims) {
    Holders& holders = by_name[request->name];
    const bool is_full = request->is_exclusive
                             ? holders.shared > 0
                             : request->limit != 0 && holders.shared >= request->limit;
    const bool is_refused =
        request->ticket < holders.stolen_below || holders.exclusive > 0 || is_full;
    request->state = is_refused ? CellState::kStolen : CellState::kHeld;
    if (is_refused || !request->is_alive) continue;
    ++(request->is_exclusive ? holders.exclusive : holders.shared);
  }
  CommitHolders(claims);
  std::erase_if(requests_, [](const Request& request) { return !request.is_alive; });
}

// Previous holders first, then the stealer: a restarted repair still finds the intent.
void ShardRepair::CommitHolders(const std::vector<Request*>& holders) {
  for (const CellState state : {CellState::kStolen, CellState::kHeld}) {
    for (const Request* const request : holders) {
      if (request->is_alive && request->state == state) CommitHolder(*request);
    }
  }
}

void ShardRepair::CommitHolder(const Request& request) {
  const NameCell* const name = shard_.NameAt(request.name);
  if (request.cell->state.Get() == request.state || name == nullptr) {
    return request.cell->state.Publish(request.state);
  }
  const bool is_held = request.state == CellState::kHeld;
  const WatchRingWriter note(shard_, !is_held);
  request.cell->state.Publish(request.state);
  note.Write(host_, is_held ? LockEvent::kGranted : LockEvent::kStolen, *request.cell, *name);
}

void ShardRepair::RaiseCounters() {
  ShardHeader& header = shard_.header();
  Shared<uint64_t>& last_token = shard_.segment().header().last_token;
  uint64_t corrupted = last_token.Get();
  if (corrupted < kFirstToken || corrupted >= kTokenLimit) {
    last_token.CompareExchange(corrupted, TokenAt(host_.RealtimeMs() * kNsPerMs));
  }
  if (header.last_ticket.Get() >= kTicketLimit) header.last_ticket.Set(0);
  for (const Request& request : requests_) {
    const bool is_order = request.order < kTicketLimit;
    const uint64_t newest_ticket = std::max(request.ticket, is_order ? request.order : 0);
    if (newest_ticket > header.last_ticket.Get()) header.last_ticket.Set(newest_ticket);
    uint64_t newest = last_token.Get();
    while (request.token > newest && !last_token.CompareExchange(newest, request.token)) {
    }
  }
}

void ShardRepair::ClearIndex() {
  Segment& segment = shard_.segment();
  for (uint32_t i = 0; i < segment.geometry().buckets_per_shard; ++i) {
    segment.bucket(shard_.index(), i).Set(kNoCell);
  }
  // All were revoked.
  for (Shared<CellId>& entry : shard_.header().biased) entry.Set(kNoCell);
}

NameCell& ShardRepair::KeepName(CellId id) {
  const auto [it, is_new] = biased_names_.try_emplace(id, nullptr);
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
  name.hold_limited.Set(0);
  NameTable(shard_).Link(id, name);
  return name;
}

// A label or a call site is kept whole, or not at all.
void ShardRepair::KeepText(CellId id, Shared<CellId>& first, uint32_t length) {
  CellId text_id = first.Get();
  if (text_id == kNoCell) return;
  std::vector<CellId> pieces;
  for (uint32_t left = TextPieces::CellsFor(length); left > 0 && length <= kMaxLabelUnits; --left) {
    const TextCell* const text = shard_.TextAt(text_id);
    const bool is_valid = text != nullptr && text->owner.Get() == id && !referenced_[text_id - 1] &&
                          std::find(pieces.begin(), pieces.end(), text_id) == pieces.end();
    if (!is_valid) break;
    pieces.push_back(text_id);
    text_id = text->following.Get();
  }
  const bool is_whole =
      !pieces.empty() && pieces.size() == TextPieces::CellsFor(length) && text_id == kNoCell;
  if (!is_whole) return first.Set(kNoCell);
  for (const CellId piece : pieces) Keep(piece);
}

void ShardRepair::LinkRequests() {
  Segment& segment = shard_.segment();
  std::vector<CellId> firsts(segment.geometry().agents, kNoCell);
  for (const Request& request : requests_) {
    Keep(request.id);
    RequestCell& cell = *request.cell;
    KeepText(request.id, cell.label, cell.label_length.Get());
    KeepText(request.id, cell.call_site, cell.call_site_length.Get());
    CellId& first = firsts[request.agent];
    request.cell->agent_next.Set(first);
    request.cell->agent_previous.Set(kNoCell);
    if (first != kNoCell)
      AsRequest(*segment.CellByNumber(first - 1)).agent_previous.Set(request.id);
    first = request.id;
    if (!UsesItsName(request.state)) continue;
    NameCell& name = KeepName(request.name);
    CountHoldLimit(name, *request.cell);
    if (request.state == CellState::kWaiting) continue;
    RequestList::Held(shard_, name).Append(request.id, *request.cell);
    Shared<uint32_t>& count = request.is_exclusive ? name.held_exclusive : name.held_shared;
    count.Set(count.Get() + 1);
  }
  LinkQueues();
  WatchContention();
  // Agents read the heads of their lists without the shard lock: a list must not look empty in
  // between.
  for (uint32_t agent = 0; agent < segment.geometry().agents; ++agent) {
    segment.agent_list(agent, shard_.index()).Set(firsts[agent]);
  }
}

// I20. An order that another request has, or that cannot be, is corruption: that request and all
// behind it get new orders.
void ShardRepair::LinkQueues() {
  std::vector<const Request*> waiting;
  for (const Request& request : requests_) {
    if (request.state == CellState::kWaiting) waiting.push_back(&request);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const Request* a, const Request* b) { return a->order < b->order; });
  Shared<uint64_t>& last_ticket = shard_.header().last_ticket;
  uint64_t last_order = 0;
  bool is_valid = true;
  for (const Request* const request : waiting) {
    is_valid = is_valid && request->order > last_order && request->order < kTicketLimit;
    last_order = request->order;
    QueuePosition position = QueuePosition::FromWord(request->cell->queue_position.Get());
    if (!is_valid) {
      position.order = last_ticket.Get() + 1;
      last_ticket.Set(position.order);
    }
    position.overtakes = std::min(position.overtakes, kMaxOvertakes);
    request->cell->queue_position.Set(position.ToWord());
    RequestList::Queue(shard_, KeepName(request->name)).Append(request->id, *request->cell);
    Contention& highest = highest_waiting_[request->name];
    highest = std::max(highest, ToContention(position.priority));
  }
}

// I19. The agents read their records again.
void ShardRepair::WatchContention() {
  Shared<uint32_t>& watches = shard_.header().contention_watches;
  watches.Set(0);
  for (const Request& request : requests_) {
    Shared<Contention>& contention = request.cell->contention;
    if (contention.Get() == Contention::kUnwatched) continue;
    if (request.state != CellState::kHeld) {
      contention.Set(Contention::kUnwatched);
      continue;
    }
    const auto highest = highest_waiting_.find(request.name);
    contention.Set(highest == highest_waiting_.end() ? Contention::kNone : highest->second);
    watches.Set(watches.Get() + 1);
  }
}

void ShardRepair::FreeTheRest() {
  Segment& segment = shard_.segment();
  const Geometry& geometry = segment.geometry();
  ShardHeader& header = shard_.header();
  header.free_head.Set(kNoCell);
  header.free_count.Set(0);
  header.used_count.Set(0);
  RecordPool pool(shard_);
  for (uint32_t extent = geometry.extents; extent-- > 0;) {
    if (!segment.IsExtentOf(shard_.index(), extent)) continue;
    for (uint32_t i = geometry.cells_per_extent; i-- > 0;) {
      header.used_count.Set(header.used_count.Get() + 1);
      const CellId id = segment.FirstCell(extent) + i;
      if (!referenced_[id - 1]) pool.Free(id, *segment.CellInExtent(extent, i));
    }
  }
}

}  // namespace holdfast::segment
