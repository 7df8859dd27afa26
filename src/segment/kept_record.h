// Records that stay in the table when their lock is released, so that their agent can acquire and
// release the lock again without the shard lock
// (docs/decisions/0025-kept-names.md, invariants I16 to I18).
//
//   kKept   idle     its agent acquires: kTaken; any thread closes it: kRevoked
//   kTaken  held     its agent releases: kKept; any thread closes it: kHeld
//
// Every exchange is a read-modify-write of `state`: if two collide, one of them fails. Both states
// are open, and carry the low bits of the record's ticket. The open states of another record in the
// same cell differ.
#ifndef HOLDFAST_SEGMENT_KEPT_RECORD_H_
#define HOLDFAST_SEGMENT_KEPT_RECORD_H_

#include <cstdint>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::segment {

inline CellState KeptState(uint64_t ticket) {
  return static_cast<CellState>(kKeptBits | (ticket & kTicketBits));
}
inline CellState TakenState(uint64_t ticket) {
  return static_cast<CellState>(kTakenBits | (ticket & kTicketBits));
}

// The fields that are new in each hold of a kept record. The agent stores them into the record.
struct Hold {
  uint64_t token;
  uint64_t now_ms;  // since 1970
  uint8_t mode;     // LockMode
};

// By the agent alone. False: the record was closed, and what was stored is not read.
bool TakeKept(RequestCell& request, uint64_t ticket, const Hold& hold);
// By the agent alone. False: the record was closed, and is an ordinary held lock, or lost.
bool GiveBack(RequestCell& request, uint64_t ticket);

// Closes a record if it is open. Any thread, also without the shard lock. Afterwards no field of it
// changes outside of the lock. Returns its state.
CellState Close(RequestCell& request);

// Names a cell in `kept` of its shard, before it is kept; false: there is no room. Inside.
bool NoteKept(ShardHeader& shard, CellId id);
// Inside, after a close.
void ForgetKept(ShardHeader& shard, CellId id);
// Closes all open records of a shard. Called by an agent, without the shard lock. A record that is
// kept later is kept by a thread that sees what this one has stored before.
void CloseKept(Segment& segment, uint16_t agent, uint32_t shard);
// Inside the shard, before it gives up extents in which no cell is in use. True: an agent that has
// found a record there may still exchange the state of the cell, which must not become a text.
bool MayCloseKept(Segment& segment, Host& host, uint32_t shard);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_KEPT_RECORD_H_
