// Biased locks: records that stay in the table when their lock is released. So their agent can
// acquire and release the lock again without the shard lock (docs/decisions/0025-biased-locks.md,
// invariants I16 to I18).
//
//   BiasedFreeState   free   its agent acquires: BiasedHeldState; any thread revokes: kRevoked
//   BiasedHeldState   held   its agent releases: BiasedFreeState; any thread revokes: kHeld
//
// Every exchange is a read-modify-write of `state`: if two collide, one of them fails. Both states
// are biased, and carry the low bits of the record's ticket. The biased states of another record in
// the same cell differ.
#ifndef HOLDFAST_SEGMENT_BIASED_RECORD_H_
#define HOLDFAST_SEGMENT_BIASED_RECORD_H_

#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::segment {

inline CellState BiasedFreeState(uint64_t ticket) {
  return static_cast<CellState>(kBiasedFreeBits | (ticket & kTicketBits));
}
inline CellState BiasedHeldState(uint64_t ticket) {
  return static_cast<CellState>(kBiasedHeldBits | (ticket & kTicketBits));
}

// The fields that are new in each hold of a biased record. The agent stores them into the record.
struct Hold {
  uint64_t token;
  uint64_t now_ms;  // since 1970
  uint8_t mode;     // LockMode
};

// By the agent alone. False: the record was revoked, and what was stored is not read.
bool AcquireBiased(RequestCell& request, uint64_t ticket, const Hold& hold);
// By the agent alone. False: the record was revoked, and is an ordinary held lock, or lost.
bool ReleaseBiased(RequestCell& request, uint64_t ticket);

// Revokes the bias of a record, if it is biased. Any thread, also without the shard lock.
// Afterwards no field of it changes outside of the lock. Returns its state.
CellState Revoke(RequestCell& request);

// Names a cell in `biased` of its shard, before its record is biased; false: there is no room.
// Inside.
bool NoteBiased(ShardHeader& shard, CellId id);
// Inside, after a revocation.
void ForgetBiased(ShardHeader& shard, CellId id);
// Revokes all biased records of a shard. Called by an agent, without the shard lock. A record that
// is biased later is biased by a thread that sees what this one has stored before.
void RevokeBiased(Segment& segment, uint16_t agent, uint32_t shard);
// Inside the shard, before it gives up extents in which no cell is in use. True: an agent that has
// found a record there may still exchange the state of the cell, which must not become a text.
bool MayRevoke(Segment& segment, Host& host, uint32_t shard);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_BIASED_RECORD_H_
