#include "segment/kept_record.h"

namespace holdfast::segment {
namespace {

// An attempt fails only if the agent acquires or releases the lock at that moment.
constexpr int kAttempts = 1 << 20;

}  // namespace

bool IsOpenRequest(const AnyCell& cell, CellState state) {
  const uint64_t ticket = reinterpret_cast<const RequestCell&>(cell).ticket.Get();
  return (static_cast<uint32_t>(state) & kTicketBits) == (ticket & kTicketBits);
}

// A death before the exchange leaves a kept record, whose fields count for nothing; after it, a
// lock of the dead. Only the agent frees the record while the agent lives, so the stores cannot
// meet another record.
bool TakeKept(RequestCell& request, uint64_t ticket, const Hold& hold) {
  request.mode.Set(hold.mode);
  request.token.Set(hold.token);
  request.requested_ms.Set(hold.now_ms);
  request.granted_ms.Set(hold.now_ms);
  CellState expected = KeptState(ticket);
  return request.state.CompareExchange(expected, TakenState(ticket));
}

bool GiveBack(RequestCell& request, uint64_t ticket) {
  CellState expected = TakenState(ticket);
  return request.state.CompareExchange(expected, KeptState(ticket));
}

CellState Close(RequestCell& request) {
  // In the one order of all: a thread that keeps the record after this load sees what this one has
  // stored before (I18).
  CellState seen = request.state.LoadSeqCst();
  for (int attempt = 0; IsOpen(seen) && attempt < kAttempts; ++attempt) {
    const CellState closed = IsTaken(seen) ? CellState::kHeld : CellState::kRevoked;
    if (request.state.CompareExchange(seen, closed)) return closed;
  }
  return seen;
}

bool NoteKept(ShardHeader& shard, CellId id) {
  for (Shared<CellId>& place : shard.kept) {
    if (place.Get() != kNoCell) continue;
    place.Exchange(id);
    return true;
  }
  return false;
}

void ForgetKept(ShardHeader& shard, CellId id) {
  for (Shared<CellId>& place : shard.kept) {
    if (place.Get() == id) place.Set(kNoCell);
  }
}

// The agent names the shard before it reads `kept`. A thread that gives up an extent reads that
// name with a read-modify-write: either it finds the name, or the agent finds no record of the
// extent in `kept`. In an extent of another shard the exchange meets records alone: it closes an
// open record, or changes nothing.
void CloseKept(Segment& segment, uint16_t agent, uint32_t shard) {
  Shared<uint32_t>& closes_kept = segment.agent(agent).closes_kept;
  closes_kept.Exchange(shard + 1);
  for (const Shared<CellId>& place : segment.shard(shard).kept) {
    const CellId id = place.LoadSeqCst();
    if (id == kNoCell) continue;
    AnyCell* const cell = segment.CellAt(shard, id);
    if (cell != nullptr) Close(AsRequest(*cell));
  }
  closes_kept.Publish(0);
}

bool MayCloseKept(Segment& segment, Host& host, uint32_t shard) {
  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
    if (segment.agent(i).closes_kept.LoadRmw() != shard + 1) continue;
    const ProcessRef process = segment.AgentAt(i).process;
    if (process.generation != 0 && host.IsAlive(process)) return true;
  }
  return false;
}

}  // namespace holdfast::segment
