'use strict';

// Mistakes in what frees a shard whose lock names a living process that is not inside.

const SIMULATION = 'simulation_test';
const FALSE_OWNER = 'segment_test:FalseOwner*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const OWNER_BUGS = [
  {
    name: 'the process that a lock word names is not challenged',
    file: 'src/core/background_worker.cc',
    from: '      Challenge(owner);\n',
    to: '      (void)&OwnerChallenge::Challenge;\n',
    tests: [SIMULATION],
  },
  {
    name: 'a process frees a shard that one of its threads is inside',
    file: 'src/segment/lock_word.cc',
    from: 'if (!scan.IsNoThreadInside()) continue;',
    to: '(void)scan.IsNoThreadInside();',
    tests: [FALSE_OWNER, SIMULATION],
  },
  {
    name: 'a process frees a shard that one of its threads has entered meanwhile',
    file: 'src/segment/lock_word.cc',
    from: 'if (scan.HasNoThreadEntered()) return seen;',
    to: 'return seen;',
    tests: [SIMULATION],
  },
  {
    name: 'a thread that has slept for a shard is inside without a mark',
    file: 'src/segment/lock_word.cc',
    from: '    mark.Enter();\n',
    to: '',
    tests: [SIMULATION],
  },
  {
    name: 'a thread that waits for a shard is marked as inside while it sleeps',
    file: 'src/segment/lock_word.cc',
    from: `    mark.Leave();
    host.FutexWait(word_.atomic(), seen | kWaiters, std::min(kSliceNs, timeout_ns - waited));
    mark.Enter();
`,
    to: `    (void)mark;
    host.FutexWait(word_.atomic(), seen | kWaiters, std::min(kSliceNs, timeout_ns - waited));
`,
    tests: [FALSE_OWNER, SIMULATION],
  },
  {
    name: 'a shard with a false owner is not repaired',
    file: 'src/segment/lock_word.cc',
    from: '  header.dirty.Set(1);\n',
    to: '',
    tests: [FALSE_OWNER],
  },
];

module.exports = { OWNER_BUGS };
