'use strict';

// Mistakes by which an event loop repairs or reaps, or by which what it leaves is never done.

const NO_WAIT =
  'core_test:*NoWait*:ReadingAfterADeathInside*:*IfAvailable*:*PieceByPiece*:*StoresAfterADeath*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const LOOP_BUGS = [
  {
    name: 'a thread that may not wait takes a shard over from the dead',
    file: 'src/segment/lock_word.cc',
    from: 'if (timeout_ns == 0) return LockOutcome::kTimedOut;',
    to: '',
    tests: ['segment_test:LockWordTest*'],
  },
  {
    name: 'a thread that may not wait repairs a corrupted shard',
    file: 'src/segment/lock_word.h',
    from: 'if (timeout_ns == 0 && segment.shard(shard).dirty.Get() != 0) {',
    to: 'if (timeout_ns == UINT64_MAX) {',
    tests: [NO_WAIT],
  },
  {
    name: 'a thread that publishes an operation repairs the shard',
    file: 'src/core/lock_table.cc',
    from: 'if (lock->NeedsRepair()) return;',
    to: 'if (lock->NeedsRepair()) Repair(shard, wake_queue);',
    tests: [NO_WAIT],
  },
  {
    name: 'no thread repairs what a reading has found busy',
    file: 'src/core/background_worker.cc',
    from: 'if (!is_broken || shard_work_.Has(shard, this)) continue;',
    to: 'if (is_broken || shard_work_.Has(shard, this)) continue;',
    tests: [NO_WAIT],
  },
  {
    name: 'a request that a dead holder kept from its lock is missed',
    file: 'src/core/agent.cc',
    from: 'if (is_later.ok() && *is_later) return Status(',
    to: 'if (!is_later.ok() && attempts > 0) return Status(',
    tests: [NO_WAIT],
  },
  {
    name: 'a postponed request is made although it has ended',
    file: 'src/core/agent.cc',
    from: 'if (postponed_.erase(id) != 0) {',
    to: 'if (postponed_.contains(id)) {',
    tests: [NO_WAIT],
  },
  {
    name: 'a newcomer does not wait for the entries of the dead',
    file: 'src/core/agent.cc',
    from: 'if (useless_batches == batches) return agent;',
    to: 'if (useless_batches <= batches) return agent;',
    tests: [NO_WAIT],
  },
  {
    name: 'a rescan ends with its first piece',
    file: 'src/core/lock_table.cc',
    from: 'position.is_complete = id == kNoCell;',
    to: 'position.is_complete = true;',
    tests: [NO_WAIT, 'core_test:Rescan*'],
  },
  {
    name: 'a name counts as locked while a thread is inside for a moment',
    file: 'src/core/agent.cc',
    from: 'for (int i = 0; i < kReadPauses && is_busy(); ++i) {',
    to: 'for (int i = kReadPauses; i < kReadPauses && is_busy(); ++i) {',
    tests: ['core_test:NoWait*'],
  },
];

module.exports = { LOOP_BUGS };
