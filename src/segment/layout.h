// The bytes of a segment: every struct in shared memory, and their invariants.
//
//   +--------+---------+-----------+--------+------------+------------+---------+
//   | header | shards  | processes | agents | list heads | extent dir | buckets |
//   | 4 KiB  | 256 B x | 64 B x    | 128 B x| 4 B x      | 4 B x      | 4 B x   |
//   +--------+---------+-----------+--------+------------+------------+---------+
//   `------------------- fixed part, allocated at creation ------------------'
//   +------------+------------------+---------+----
//   | watch ring | watch ring names | extent  | ...
//   | 128 B x    | 8 B x            | (cells) |
//   +------------+------------------+---------+----
//   `---- for the first watcher ----'`- on demand -'
//
// A shard owns an extent, or a process has claimed it for its operations (publication_list.h). An
// extent is divided into cells of 128 bytes. In a shard's extent a cell is free, a lock request, a
// resource name that at least one request uses, or a piece of text. A text belongs to a long name
// or to a request.
//
// Invariants, tested by `CheckInvariants`. "Unlocked" marks an invariant that holds while no thread
// is inside the shard. A record is a lock request.
//
// I1  `state` is the kind and the condition of a cell. It is stored last (release) when a cell is
//     taken into use, and first when the cell is freed. All other fields of a record are final when
//     its first state is stored. Exceptions are the index part, `event_next`, the token and the
//     times of the grant. The token and these times are stored before the state that needs them.
// I2  The records decide which requests exist, which of them wait and hold, and in which order
//     (`queue_position`). The index (links, counts, heads, hash buckets, free list) can be rebuilt
//     from them.
// I3  Unlocked: the state of a request decides its list. A kWaiting request is in its name's queue,
//     by its position; a kHeld request is in its name's held list. A kStolen, kExpired or kZombie
//     request is in neither. Each of them is in its agent's list.
// I4  Unlocked: a name cell is in its hash bucket, and at least one request waits for or holds the
//     name.
// I5  Unlocked: two holders of one name are both shared. If a holder has a limit, the number of
//     holders with smaller tokens is below that limit.
// I6  Unlocked: the first request of a queue is not grantable.
// I7  A ticket is used once in the life of a segment, and so is a token; both only rise.
// I8  An owner is named with its generation. A process with an older generation is dead.
// I9  Unlocked: every cell of an extent of the shard is in use, or is free and in the free list.
// I10 A record whose `event_next` is not kNotLinked is not freed while its agent lives. At its end
//     it becomes kZombie, and the agent frees it when the agent takes it from its event list.
// I11 Unlocked: a piece of text belongs to one name or one request, which names it.
// I12 An agent watches if `watching` of its entry is the entry's generation. A watcher finds
//     `watched` odd in every shard. `watched` only rises. (Tested with every crash image.)
// I13 A watch ring slot is valid only if its checksum matches its contents and its number. Numbers
//     are taken before their events happen. A watcher stores itself in `watch_armed`, then reads
//     the ring. If the ring has no new entry, the watcher is rung for the next event, or wakes
//     because `watch_armed` does not name it any more.
// I14 A lock word names a live process only while a thread of that process is inside or about to
//     enter, or by corruption. Then only this process changes the word, except for the waiters bit.
// I15 An operation that is kPending and pushed is executed once, before any operation or request
//     that reaches its shard later. A repair skips the operations of dead processes. The extent of
//     an operation stays claimed until its process has been reaped.
// I16 A biased record (biased_record.h) is the only request of its name. It has no text, limit,
//     hold limit or enclosing token, has the default priority, and is in the shard's `biased`.
//     Unlocked: it is in the held list of its name and not counted, also after it was revoked,
//     until the name is settled (shard_rules.h). Exception from I1: its mode, token and times
//     change while it is biased.
// I17 A record that was biased is freed by its agent, or by the thread that ends the agent.
// I18 After a request has returned without a grant, or a watcher has begun, every biased record
//     concerned has been revoked. It is biased again only inside the shard, and only after that.
// I19 Unlocked: `contention` of a holder that watches is the highest priority that waits for the
//     name. In a shard, `contention_watches` counts the holders that watch.
// I20 The orders of waiting requests come from `last_ticket`, like tickets. A request passes others
//     only when it enters the queue or changes its priority. Then first the passed ones get larger
//     orders, from the last one on, so that each store leaves a queue in a valid order. No request
//     is overtaken more than kMaxOvertakes times (priority.h).
#ifndef HOLDFAST_SEGMENT_LAYOUT_H_
#define HOLDFAST_SEGMENT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "segment/lock_mode.h"
#include "segment/priority.h"
#include "segment/shared.h"

namespace holdfast::segment {

inline constexpr uint64_t kMagic = 0x74736166'646c6f68;  // "holdfast"
inline constexpr uint32_t kLayoutVersion = 10;

// Cells are numbered from 1 through all extents; 0 is no cell.
using CellId = uint32_t;
inline constexpr CellId kNoCell = 0;

// Values of `event_next`.
inline constexpr CellId kNotLinked = 0;
inline constexpr CellId kEventEnd = 0xFFFFFFFF;

// Tokens are above the first and below the second, so that a small number is never taken for one.
// Any other value is corruption: no real segment gets there.
inline constexpr uint64_t kFirstToken = uint64_t{1} << 32;
inline constexpr uint64_t kTokenLimit = uint64_t{1} << 62;

// In AgentEntry::sleeping: the doorbell has been rung in this sleep.
inline constexpr uint32_t kRung = 0x80000000;
// In AgentEntry::prewake: this sleeper requests a prewake, one hand-off before its own.
inline constexpr uint32_t kPrewakeWanted = 0xFFFFFFFF;

// Values far apart, so that a corrupted word is not another valid state. A fresh page of zeros is
// free.
enum class CellState : uint32_t {
  kFree = 0,
  kWaiting = 0x57A17001,   // request: in the queue
  kHeld = 0x4E1D7002,      // request: granted
  kStealing = 0x57EA7003,  // request: intent of a steal; becomes kHeld, the holders kStolen
  kStolen = 0x10577004,    // request: its lock was stolen; its agent will free it
  kZombie = 0x20B17005,    // request: ended, in the event list of its agent, which will free it
  kName = 0x4A3E7006,      // a resource name and the heads of its lists
  kText = 0x7E877007,      // a piece of text of a name or a request
  kExpired = 0xE891ED08,   // request: lost the lock at its hold limit; otherwise like kStolen
  kRevoked = 0x9E0C7009,   // request: was biased and free; its agent will free it
};

// The biased states of a request: the upper bits, and the low bits of its ticket (biased_record.h).
// Small integers of every JavaScript engine.
inline constexpr uint32_t kBiasedFreeBits = 0x2B000000;
inline constexpr uint32_t kBiasedHeldBits = 0x35000000;
inline constexpr uint32_t kTicketBits = 0x00FFFFFF;

struct SegmentHeader {
  Shared<uint64_t> magic;                 //   0
  Shared<uint32_t> layout_version;        //   8
  Shared<uint32_t> cell_bytes;            //  12
  Shared<uint32_t> shard_bytes;           //  16
  Shared<uint32_t> process_bytes;         //  20
  Shared<uint32_t> agent_bytes;           //  24
  Shared<uint32_t> extent_bytes;          //  28
  Shared<uint64_t> capacity;              //  32  bytes of the whole file
  Shared<uint64_t> boot_id[2];            //  40  of the machine's run that wrote it last
  Shared<uint64_t> segment_id;            //  56  distinguishes it from earlier and later segments
  Shared<uint64_t> segment_id_copies[2];  //  64  because files are named by it
  Shared<uint64_t> name_key[3][2];        //  80  of the hash of names, and two copies
  Shared<uint64_t> last_token;            // 128  the newest fencing token; has its own cache line
  uint8_t reserved2[56];                  // 136
  Shared<uint64_t> last_entry;            // 192  the newest number of the watch ring
  Shared<uint64_t> watch_ring_words;      // 200  of the watch ring's names, used so far
  Shared<uint32_t> watch_armed;           // 208  agent to ring at the next event (watch_ring.h)
  uint8_t reserved3[3884];                // 212
};
static_assert(sizeof(SegmentHeader) == 4096 && offsetof(SegmentHeader, last_token) == 128 &&
              offsetof(SegmentHeader, last_entry) == 192 &&
              offsetof(SegmentHeader, watch_armed) == 208);
// In SegmentHeader::watch_armed: every agent that watches.
inline constexpr uint32_t kAllArmed = 0xFFFFFFFF;

inline constexpr uint32_t kMaxBiasedPerShard = 40;

struct ShardHeader {
  Shared<uint32_t> lock_word;    //  0  see lock_word.h
  Shared<uint32_t> dirty;        //  4  the index must be rebuilt before it is used
  Shared<uint64_t> last_ticket;  //  8
  Shared<uint32_t> free_head;    // 16  first free cell, linked by `next`
  Shared<uint32_t> free_count;   // 20
  Shared<uint32_t> used_count;   // 24  cells in use
  Shared<uint32_t> watched;      // 28  odd: events go into the watch ring (watch_ring.h)
  Shared<uint64_t> changes;      // 32  incremented by a writer before its first change
  Shared<CellId> publications;   // 40  stack of operations (publication_list.h), linked by `next`
  Shared<uint32_t> contention_watches;        //  44  index: watching holders
  Shared<uint64_t> publication_count;         // 48  the count of operations published so far
  Shared<CellId> biased[kMaxBiasedPerShard];  //  56  all biased records; perhaps others, too
  uint8_t reserved2[40];                      // 216
};
static_assert(sizeof(ShardHeader) == 256 && offsetof(ShardHeader, publications) == 40 &&
              offsetof(ShardHeader, biased) == 56);

// A process that takes part. It is alive while it holds the lock on byte `slot` (slot_lock.h).
struct ProcessEntry {
  Shared<uint32_t> generation;          //  0  of the newest claim of this slot; 0: never used
  Shared<uint32_t> cleaned_generation;  //  4  reaped up to this generation
  Shared<uint32_t> process_id;          //  8  for display; never a proof of life
  uint8_t reserved[4];                  // 12
  Shared<uint64_t> pid_namespace;       // 16  where process_id is valid; 0: unknown
  uint8_t reserved2[40];                // 24
};
static_assert(sizeof(ProcessEntry) == 64);

// One Node environment (main thread or worker).
struct AgentEntry {
  Shared<uint64_t> owner;         //   0  ProcessRef as one word; 0: free
  Shared<uint32_t> generation;    //   8  of the newest claim of this entry
  Shared<uint32_t> thread_id;     //  12  for display: Node's, 0 is the main thread
  Shared<uint64_t> client_id[2];  //  16  UUID
  Shared<uint32_t> watching;      //  32  the generation that reads the watch ring; 0: none
  Shared<uint32_t> cpu;           //  36  1 + the CPU it ran on last; 0: unknown; a hint
  uint8_t reserved[24];           //  40
  Shared<uint32_t> event_head;    //  64  stack of records with events, linked by event_next
  Shared<uint32_t> sleeping;      //  68  the number of its sleep, with kRung; 0: it is awake
  Shared<uint32_t> rescan;        //  72  1: events may be missing, read all own records
  Shared<uint32_t> prewake;       //  76  kPrewakeWanted, or 1 + the agent before it; a hint
  Shared<uint32_t> answered;      //  80  1: an operation of this agent has been executed
  // 1 + the shard whose biased records it revokes without the shard lock; 0: none
  // (biased_record.h).
  Shared<uint32_t> revokes_in;  //  84
  uint8_t reserved2[40];        //  88
};
static_assert(sizeof(AgentEntry) == 128 && offsetof(AgentEntry, event_head) == 64);

// Of a holder: the highest priority that waits for its lock. Its agent is notified of each change.
enum class Contention : uint8_t {
  kUnwatched = 0,  // it does not watch
  kNone = 1,
  kBackground = 2,
  kUserVisible = 3,
  kUserBlocking = 4,
};

constexpr Contention ToContention(Priority priority) {
  return static_cast<Contention>(static_cast<uint8_t>(Contention::kBackground) +
                                 static_cast<uint8_t>(priority));
}

// A lock request: pending, or granted.
struct RequestCell {
  Shared<CellState> state;              //  0
  Shared<CellId> name;                  //  4  its NameCell
  Shared<uint64_t> ticket;              //  8  age, and identity
  Shared<uint64_t> token;               // 16  fencing token; 0 before the grant
  Shared<uint16_t> process_slot;        // 24
  Shared<uint16_t> agent;               // 26
  Shared<uint32_t> process_generation;  // 28
  Shared<uint32_t> agent_generation;    // 32
  Shared<uint32_t> request_id;          // 36  the agent's own number for it
  Shared<uint8_t> mode;                 // 40  LockMode
  Shared<Contention> contention;        // 41  of a held lock
  Shared<uint8_t> label_length;         // 42  code units; meaningless without a label
  Shared<uint8_t> call_site_length;     // 43  code units; meaningless without a call site
  Shared<uint32_t> limit;               // 44  maximum shared holders, itself included; 0: none
  Shared<uint64_t> hold_limit_ns;       // 48  longest hold; 0: no limit
  Shared<CellId> label;                 // 56  its first TextCell; kNoCell: it has no label
  Shared<CellId> call_site;             // 60  its first TextCell; kNoCell: it is not known
  Shared<CellId> next;                  // 64  index: queue, held list or free list
  Shared<CellId> previous;              // 68
  Shared<CellId> agent_next;            // 72  index: requests of the same agent in this shard
  Shared<CellId> agent_previous;        // 76
  Shared<CellId> event_next;            // 80  link in the agent's events; kNotLinked outside
  Shared<uint32_t> granted_clock;       // 84  the clock of granted_ns (see Host)
  Shared<uint64_t> granted_ns;          // 88  with a hold limit: when it was granted
  Shared<uint64_t> requested_ms;        // 96  since 1970, to show
  Shared<uint64_t> granted_ms;          // 104  since 1970, for display; meaningless while it waits
  Shared<uint64_t> enclosing_token;     // 112  of the lock in whose callback it was made; 0: none
  Shared<uint64_t> queue_position;      // 120  QueuePosition as one word (priority.h)
};

inline constexpr uint32_t kNameCellUnits = 32;
inline constexpr uint32_t kTextCellUnits = 56;
inline constexpr uint32_t kMaxLabelUnits = 120;  // also of a call site; longer texts are cut
static_assert(kMaxLabelUnits <= UINT8_MAX);

// A resource name (UTF-16 code units), shared by all requests for it.
struct NameCell {
  Shared<CellState> state;                 //  0
  Shared<uint32_t> length;                 //  4  code units
  Shared<uint64_t> hash;                   //  8
  Shared<CellId> text;                     // 16  first TextCell, when longer than kNameCellUnits
  Shared<CellId> hash_next;                // 20  index
  Shared<CellId> hash_previous;            // 24
  Shared<CellId> queue_head;               // 28  index: lock request queue
  Shared<CellId> queue_tail;               // 32
  Shared<CellId> held_head;                // 36  index: held locks
  Shared<CellId> held_tail;                // 40
  Shared<uint32_t> held_exclusive;         // 44  index: counts of the held locks
  Shared<uint32_t> held_shared;            // 48
  Shared<uint32_t> hold_limited;           // 52  index: requests of both lists with a hold limit
  Shared<uint64_t> least_hold_limit_ns;    // 56  index: none of these limits is below
  Shared<uint16_t> units[kNameCellUnits];  // 64
};

struct TextCell {
  Shared<CellState> state;                 //  0
  Shared<CellId> following;                //  4  next piece
  Shared<CellId> owner;                    //  8  the NameCell or RequestCell that it belongs to
  uint8_t reserved[4];                     // 12
  Shared<uint16_t> units[kTextCellUnits];  // 16
};

// The common part of all cells: the state, and the free list's link (index).
struct AnyCell {
  Shared<CellState> state;  //  0
  uint8_t body[60];         //  4
  Shared<CellId> next;      // 64  index: free list
  uint8_t body2[60];        // 68
};

inline constexpr uint32_t kCellBytes = 128;
static_assert(sizeof(RequestCell) == kCellBytes && offsetof(RequestCell, next) == 64 &&
              offsetof(RequestCell, hold_limit_ns) == 48 &&
              offsetof(RequestCell, granted_ns) == 88);
static_assert(sizeof(NameCell) == kCellBytes && offsetof(NameCell, units) == 64);
static_assert(sizeof(TextCell) == kCellBytes && offsetof(TextCell, units) == 16);
static_assert(sizeof(AnyCell) == kCellBytes && offsetof(AnyCell, next) == 64);

// An operation of an agent on a shard that was locked, stored in an extent that the agent's process
// has claimed. The agent writes it until it is kPending; then only a thread inside the shard does,
// until it is kExecuted or kDone.
enum class OperationState : uint32_t {
  kUnused = 0,
  kPending = 0x9E4D0D01,  // to be executed
  kExecuted =
      0xE8EC0D02,      // executed by a repair; perhaps among the operations of the publication list
  kDone = 0xD04E0D03,  // executed, and not among them
};
enum class OperationKind : uint8_t { kRequest = 1, kEnd = 2 };

struct OperationCell {
  Shared<OperationState> state;         //  0
  Shared<CellId> next;                  //  4  link in the publication list
  Shared<uint64_t> number;              //  8  its shard, and its order there (OperationNumber)
  Shared<uint32_t> shard;               // 16
  Shared<OperationKind> kind;           // 20
  Shared<uint8_t> mode;                 // 21  LockMode
  Shared<uint8_t> steals;               // 22  1: of a request with steal
  Shared<uint8_t> reason;               // 23  of an end; of a request: its Priority
  Shared<uint16_t> process_slot;        // 24
  Shared<uint16_t> agent;               // 26
  Shared<uint32_t> process_generation;  // 28
  Shared<uint32_t> agent_generation;    // 32
  Shared<uint32_t> request_id;          // 36
  Shared<uint32_t> limit;               // 40
  Shared<uint32_t> name_length;         // 44  code units; the first text
  Shared<uint64_t> hold_limit_ns;       // 48
  Shared<uint64_t> enclosing_token;     // 56
  Shared<uint64_t> requested_ms;        // 64
  Shared<uint16_t> label_length;        // 72  code units; the second text
  Shared<uint16_t> call_site_length;    // 74  code units; the third text
  // The record: of an end, what it is to end; of a request, part of the answer.
  Shared<CellId> cell;      // 76
  Shared<uint64_t> ticket;  // 80
  // Of a request: max_pending. Of the end of a request that was published: the operation of the
  // request, whose answer names the record.
  Shared<uint32_t> argument;  // 88
  // The answer.
  Shared<uint32_t> outcome;          //  92  of a request: RequestOutcome, or kRefused
  Shared<uint64_t> token;            //  96
  Shared<uint64_t> blocker_process;  // 104  ProcessRef as one word
  Shared<CellState> ended;           // 112  of an end: what the record was; before it is ended
  Shared<uint32_t> blocker_holder;   // 116
  Shared<uint8_t> has_hold_limits;   // 120
  Shared<uint8_t> several_blockers;  // 121
  Shared<uint16_t> combiner_slot;    // 122  of the process that has executed it; else the agent's
  Shared<CellId> text;               // 124  first of its text cells, of the same extent
};
// In OperationCell::outcome: the request failed, with the StatusCode in the bits below, and the
// system's error from the second on.
inline constexpr uint32_t kRefused = 0x100;
inline constexpr uint32_t kRefusedErrorBit = 16;
static_assert(sizeof(OperationCell) == kCellBytes && offsetof(OperationCell, hold_limit_ns) == 48 &&
              offsetof(OperationCell, token) == 96);

// The mode, priority and overtakes of a request in an event: one byte.
struct RequestFacts {
  LockMode mode = LockMode::kExclusive;
  Priority priority = Priority::kUserVisible;
  uint32_t overtakes = 0;  // at most 31

  static constexpr RequestFacts FromByte(uint8_t byte) {
    return {static_cast<LockMode>(byte & 1), ToPriority(byte >> 1 & 3),
            static_cast<uint32_t>(byte >> 3)};
  }
  constexpr uint8_t ToByte() const {
    return static_cast<uint8_t>(static_cast<uint32_t>(mode) | static_cast<uint32_t>(priority) << 1 |
                                overtakes << 3);
  }
};
static_assert(kMaxOvertakes < 32);

// An event of one request, with copied details: the request may have ended when it is read.
inline constexpr uint32_t kEntryUnits = 20;
struct WatchRingEntry {
  uint64_t text_at;        //   0  of a name of more than kEntryUnits: its index (watch_ring_words)
  uint64_t text_check;     //   8  and its checksum
  uint64_t time_ms;        //  16  since 1970
  uint64_t token;          //  24  0: never granted
  uint64_t client_id[2];   //  32
  uint64_t pid_namespace;  //  48  where process_id is valid; 0: unknown
  uint64_t process;        //  56  ProcessRef as one word
  uint32_t process_id;     //  64  0: not known any more
  uint32_t thread_id;      //  68
  uint32_t name_length;    //  72  code units, cut at Geometry::MaxWatchRingUnits()
  uint8_t type;            //  76  LockEvent
  uint8_t request_facts;   //  77  RequestFacts
  uint16_t request;        //  78  the low half of its request_id
  uint16_t units[kEntryUnits];  //  80  the name, when it fits
};
inline constexpr uint32_t kEntryWords = sizeof(WatchRingEntry) / sizeof(uint64_t);
static_assert(sizeof(WatchRingEntry) == 120 &&
              std::has_unique_object_representations_v<WatchRingEntry>);

struct WatchRingSlot {
  Shared<uint64_t> check;               // 0  of the words and the number of the entry; stored last
  Shared<uint64_t> words[kEntryWords];  // 8  a WatchRingEntry
};
static_assert(sizeof(WatchRingSlot) == 128);

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_LAYOUT_H_
