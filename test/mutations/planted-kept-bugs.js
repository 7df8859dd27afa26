'use strict';

// Mistakes in the names that are kept.

const KEPT = 'core_test:KeptNames*';
const AGENT = 'core_test:AgentKept*';
const TRANSITIONS = 'core_test:KeptTransitions*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const KEPT_BUGS = [
  {
    name: 'a request does not look whether the name is taken by the short way',
    file: 'src/core/shard_rules.cc',
    from: '  if (found.cell != nullptr && !HasCounted(*found.cell)) Settle(*found.cell);\n',
    to: '',
    tests: [KEPT],
  },
  {
    name: 'a taken record is revoked',
    file: 'src/segment/kept_record.cc',
    from: 'IsTaken(seen) ? CellState::kHeld : CellState::kRevoked;',
    to: 'IsTaken(seen) ? CellState::kRevoked : CellState::kRevoked;',
    tests: [KEPT],
  },
  {
    name: 'whoever puts an operation in leaves the kept records open',
    file: 'src/core/lock_manager.cc',
    from: '  segment::CloseKept(segment_, operation.agent.Get(), shard);\n',
    to: '',
    tests: [AGENT],
  },
  {
    name: 'a watcher leaves the kept records open',
    file: 'src/segment/watch_ring.cc',
    from: '    CloseKept(segment_, agent.index, i);\n',
    to: '',
    tests: [KEPT],
  },
  {
    name: 'a copy of the table leaves open what it copies',
    file: 'src/core/snapshot.cc',
    from: 'if (segment::IsOpen(state)) segment::Close(segment::AsRequest(cell));',
    to: '',
    tests: [KEPT],
  },
  {
    name: 'a repair leaves open what it reads',
    file: 'src/segment/repair.cc',
    from: '    state = Close(request);\n',
    to: '',
    tests: [KEPT],
  },
  {
    name: 'a name is kept while others wait',
    file: 'src/core/shard_rules.cc',
    from: '         name.queue_head.Get() == kNoCell && request.event_next.Get()',
    to: '         request.event_next.Get()',
    tests: [KEPT],
  },
  {
    name: 'the record of a kept name is freed before its agent is told',
    file: 'src/core/agent.cc',
    from: '    const RecordRef ref = entries_[id].record;\n    FreeEntry(id);\n    EndRecord(ref);\n',
    to: '    EndRecord(entries_[id].record);\n    FreeEntry(id);\n',
    tests: [AGENT],
  },
  {
    name: 'a sweep ends what is taken',
    file: 'src/core/agent.cc',
    from: 'kept_.IsIdle(slot, record.token.Get()) && state == segment::KeptState(KeptTicket(slot));',
    to: 'kept_.IsIdle(slot, record.token.Get());',
    tests: [AGENT],
  },
  {
    name: 'a rescan forgets the kept records',
    file: 'src/core/agent.h',
    from: 'return state == EntryState::kHeld || state == EntryState::kKept;',
    to: 'return state == EntryState::kHeld;',
    tests: [AGENT],
  },
  {
    name: 'a full table refuses a request for the sake of a kept name',
    file: 'src/core/agent.cc',
    from: 'IsForWantOfRoom(reply.status()) && EndIdleKept()',
    to: 'IsForWantOfRoom(reply.status()) && scan_ == UINT32_MAX',
    tests: [AGENT],
  },
  {
    name: 'a kept record is taken without its token',
    file: 'src/segment/kept_record.cc',
    from: '  request.token.Set(hold.token);\n',
    to: '',
    tests: [TRANSITIONS, KEPT],
  },
  {
    name: 'a shard gives up extents whose records an agent is about to close',
    file: 'src/core/extents.cc',
    from: '    if (given == 0 && segment::MayCloseKept(segment, manager.host(), shard)) break;\n',
    to: '',
    tests: [KEPT],
  },
];

module.exports = { KEPT_BUGS };
