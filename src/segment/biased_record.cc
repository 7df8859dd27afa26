#include "segment/biased_record.h"

namespace holdfast::segment {
namespace {

// An attempt fails only if the agent acquires or releases the lock at that moment.
constexpr int kAttempts = 1 << 20;

}  // namespace

bool IsBiasedRequest(const AnyCell& cell, CellState state) {
  const uint64_t ticket = reinterpret_cast<const RequestCell&>(cell).ticket.Get();
  return (static_cast<uint32_t>(state) & kTicketBits) == (ticket & kTicketBits);
}

// A death before the exchange leaves a biased record, whose fields are not read. A death after the
// exchange leaves a held lock of a dead process. Only the agent frees the record while the agent
// lives, so the stores cannot meet another record.
bool AcquireBiased(RequestCell& request, uint64_t ticket, const Hold& hold) {
  request.mode.Set(hold.mode);
  request.token.Set(hold.token);
  request.requested_ms.Set(hold.now_ms);
  request.granted_ms.Set(hold.now_ms);
  CellState expected = BiasedFreeState(ticket);
  return request.state.CompareExchange(expected, BiasedHeldState(ticket));
}

bool ReleaseBiased(RequestCell& request, uint64_t ticket) {
  CellState expected = BiasedHeldState(ticket);
  return request.state.CompareExchange(expected, BiasedFreeState(ticket));
}

CellState Revoke(RequestCell& request) {
  // In the one order of all: a thread that biases the record after this load sees what this one has
  // stored before (I18).
  CellState seen = request.state.LoadSeqCst();
  for (int attempt = 0; IsBiased(seen) && attempt < kAttempts; ++attempt) {
    const CellState closed = IsBiasedHeld(seen) ? CellState::kHeld : CellState::kRevoked;
    if (request.state.CompareExchange(seen, closed)) return closed;
  }
  return seen;
}

bool NoteBiased(ShardHeader& shard, CellId id) {
  for (Shared<CellId>& entry : shard.biased) {
    if (entry.Get() != kNoCell) continue;
    entry.Exchange(id);
    return true;
  }
  return false;
}

void ForgetBiased(ShardHeader& shard, CellId id) {
  for (Shared<CellId>& entry : shard.biased) {
    if (entry.Get() == id) entry.Set(kNoCell);
  }
}

// The agent names the shard before it reads `biased`. A thread that gives up an extent reads that
// name with a read-modify-write. Either the thread finds the name, or the agent finds no record of
// the extent in `biased`. In an extent of another shard the exchange meets records alone: it
// revokes a biased record, or changes nothing.
void RevokeBiased(Segment& segment, uint16_t agent, uint32_t shard) {
  Shared<uint32_t>& revokes_in = segment.agent(agent).revokes_in;
  revokes_in.Exchange(shard + 1);
  for (const Shared<CellId>& entry : segment.shard(shard).biased) {
    const CellId id = entry.LoadSeqCst();
    if (id == kNoCell) continue;
    AnyCell* const cell = segment.CellAt(shard, id);
    if (cell != nullptr) Revoke(AsRequest(*cell));
  }
  revokes_in.Publish(0);
}

bool MayRevoke(Segment& segment, Host& host, uint32_t shard) {
  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
    if (segment.agent(i).revokes_in.LoadRmw() != shard + 1) continue;
    const ProcessRef process = segment.AgentAt(i).process;
    if (process.generation != 0 && host.IsAlive(process)) return true;
  }
  return false;
}

}  // namespace holdfast::segment
