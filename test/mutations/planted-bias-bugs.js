'use strict';

// Mistakes in biased locks.

const BIASED = 'core_test:BiasedLocks*';
const AGENT = 'core_test:AgentBiased*';
const TRANSITIONS = 'core_test:BiasedTransitions*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const BIAS_BUGS = [
  {
    name: 'a request does not check whether the name has a biased lock',
    file: 'src/core/shard_rules.cc',
    from: '  if (found.cell != nullptr && !HasCounted(*found.cell)) Settle(*found.cell);\n',
    to: '',
    tests: [BIASED],
  },
  {
    name: 'a taken record is revoked',
    file: 'src/segment/biased_record.cc',
    from: 'IsBiasedHeld(seen) ? CellState::kHeld : CellState::kRevoked;',
    to: 'IsBiasedHeld(seen) ? CellState::kRevoked : CellState::kRevoked;',
    tests: [BIASED],
  },
  {
    name: 'an agent that publishes an operation leaves the biased records usable',
    file: 'src/core/lock_table.cc',
    from: '  segment::RevokeBiased(segment_, operation.agent.Get(), shard);\n',
    to: '',
    tests: [AGENT],
  },
  {
    name: 'a watcher leaves the biased records usable',
    file: 'src/segment/watch_ring.cc',
    from: '    RevokeBiased(segment_, agent.index, i);\n',
    to: '',
    tests: [BIASED],
  },
  {
    name: 'a copy of the table leaves open what it copies',
    file: 'src/core/snapshot.cc',
    from: 'if (segment::IsBiased(state)) segment::Revoke(segment::AsRequest(cell));',
    to: '',
    tests: [BIASED],
  },
  {
    name: 'a repair leaves open what it reads',
    file: 'src/segment/repair.cc',
    from: '    state = Revoke(request);\n',
    to: '',
    tests: [BIASED],
  },
  {
    name: 'a name is biased while others wait',
    file: 'src/core/shard_rules.cc',
    from: '         name.queue_head.Get() == kNoCell && request.event_next.Get()',
    to: '         request.event_next.Get()',
    tests: [BIASED],
  },
  {
    name: 'the record of a biased name is freed before its agent drops it',
    file: 'src/core/agent.cc',
    from: '    const RecordRef ref = entries_[id].record;\n    FreeEntry(id);\n    EndRecord(ref);\n',
    to: '    EndRecord(entries_[id].record);\n    FreeEntry(id);\n',
    tests: [AGENT],
  },
  {
    name: 'a sweep ends what is taken',
    file: 'src/core/agent.cc',
    from: ' &&\n                           state == segment::BiasedFreeState(BiasedTicket(slot));\n    if (!is_unused && state != CellState::kRevoked) continue;',
    to: ';\n    if (!is_unused && state != CellState::kRevoked) continue;',
    tests: [AGENT],
  },
  {
    name: 'a rescan forgets the biased records',
    file: 'src/core/agent.h',
    from: 'return state == EntryState::kHeld || state == EntryState::kBiased;',
    to: 'return state == EntryState::kHeld;',
    tests: [AGENT],
  },
  {
    name: 'a full table rejects a request for the sake of a biased name',
    file: 'src/core/agent.cc',
    from: 'IsForWantOfRoom(reply.status()) && EndIdleBiased()',
    to: 'IsForWantOfRoom(reply.status()) && scan_ == UINT32_MAX',
    tests: [AGENT],
  },
  {
    name: 'a biased record is acquired without its token',
    file: 'src/segment/biased_record.cc',
    from: '  request.token.Set(hold.token);\n',
    to: '',
    tests: [TRANSITIONS, BIASED],
  },
  {
    name: 'a shard gives up extents whose records an agent is about to close',
    file: 'src/core/extents.cc',
    from: '    if (released == 0 && segment::MayRevoke(segment, lock_table.host(), shard)) break;\n',
    to: '',
    tests: [BIASED],
  },
];

module.exports = { BIAS_BUGS };
