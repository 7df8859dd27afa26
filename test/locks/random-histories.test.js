'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const fc = require('fast-check');
const { createManualTimers } = require('../support/manual-timers.js');

const manual = createManualTimers();
jest.doMock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  ...manual.timers,
}));

const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { createLocalLockManager, openLockManager } = require('../../lib/index.js');
const { TASK_PRIORITIES } = require('../../lib/task-priority.js');
const { removeLocks } = require('../support/broker-process.js');
const { BACKENDS, IN_PROCESS_BACKENDS } = require('../support/combinations.js');
const { HistoryPlayer, clientIdsOf } = require('../support/history.js');
const { lengthOf } = require('../support/lengths.js');

// Random histories. HOLDFAST_SEED=<seed> replays the histories of a run, HOLDFAST_RUNS sets their
// number.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = lengthOf('HOLDFAST_RUNS', { whole: 300, part: 120 });
// Over a broker each step takes some round trips.
const BROKER_RUNS = Math.ceil(RUNS / 4);
// Each takes some milliseconds, those with hold limits longer.
const TIMEOUT_MS = 60_000 + RUNS * 200;
const MANAGERS = 3;
const NAMES = 2;
const MAX_OVERTAKES = 16;

const index = fc.nat({ max: 1_000 });
const nameIndex = fc.nat({ max: NAMES - 1 });
const priority = fc.constantFrom(...TASK_PRIORITIES);
const seldom = fc.constantFrom(false, false, false, false, true);
const details = {
  manager: fc.nat({ max: MANAGERS - 1 }),
  mode: fc.constantFrom('exclusive', 'shared'),
  limit: fc.constantFrom(0, 0, 1, 2),
  way: fc.constantFrom('wait', 'wait', 'wait', 'signal', 'signal', 'ifAvailable', 'steal'),
  timeout: seldom,
  holdLimit: seldom,
  label: seldom,
  priority: fc.option(priority, { nil: undefined }),
  maxPending: fc.constantFrom(undefined, undefined, undefined, 0, 1, 2),
};
const call = (kind, more) => fc.record({ kind: fc.constant(kind), ...details, ...more });
const request = call('request', { name: nameIndex });
const otherCall = fc.oneof(
  call('acquire', { name: nameIndex }),
  call('sync', { name: nameIndex }),
  call('nested', {
    name: nameIndex,
    call: index,
    holdLimit: fc.constant(false),
    reentrant: fc.boolean(),
    deadlock: fc.constant('ignore'),
  }).map((step) =>
    // Inside a lock that covers them, requests are taken to wait in the order of the steps.
    step.reentrant ? { ...step, priority: undefined, maxPending: undefined } : step,
  ),
  // Exclusive: the order in which several requests continue that are granted at once is not
  // promised. A steal of several locks is one by one: a victim may be notified of the first before
  // the second, or not. The lowest priority, and no limit: it requests the second lock when it has
  // been notified of the first, before or after other requests leave the queue of the second.
  call('all', {
    names: fc.array(nameIndex, { maxLength: 3 }),
    mode: fc.constant('exclusive'),
    priority: fc.constant('background'),
    maxPending: fc.constant(undefined),
  }).map((step) => (step.way === 'steal' ? { ...step, names: step.names.slice(0, 1) } : step)),
);
const finish = fc.record({ kind: fc.constant('finish'), call: index, isFailure: fc.boolean() });
const abort = fc.record({ kind: fc.constant('abort'), call: index });
const change = fc.record({ kind: fc.constant('priority'), call: index, priority });
const pass = fc.record({ kind: fc.constant('pass'), call: index });
const step = fc.oneof(
  { arbitrary: request, weight: 5 },
  { arbitrary: otherCall, weight: 2 },
  { arbitrary: finish, weight: 5 },
  { arbitrary: abort, weight: 1 },
  { arbitrary: pass, weight: 1 },
  { arbitrary: change, weight: 2 },
);
const histories = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 25,
});

const plain = { manager: 0, name: 0, mode: 'exclusive', limit: 0, way: 'wait' };
const inside = (mode) => [{ ...plain, kind: 'nested', call: 0, reentrant: true, mode }];
/** Requests inside one lock queue among themselves: the second and the third wait for the first. */
const siblings = [
  [{ ...plain, kind: 'request' }],
  inside('shared'),
  inside('exclusive'),
  inside('shared'),
  [{ kind: 'finish', call: 0, isFailure: false }],
  [{ kind: 'finish', call: 1, isFailure: false }],
];
/** The callback of requestAll() continues after the loss of one lock: the other still covers. */
const partlyLost = [
  [{ ...plain, kind: 'all', names: [1, 0] }],
  [{ ...plain, kind: 'request', manager: 1, name: 1, way: 'steal' }],
  inside('exclusive'),
  [{ kind: 'finish', call: 0, isFailure: false }],
];

const urgent = { ...plain, kind: 'request', priority: 'user-blocking' };
/**
 * Two requests are overtaken, one of them as often as may be, and they rise and fall: the steps of
 * a queue that random histories rarely reach.
 */
const overtaken = [
  [{ ...plain, kind: 'request' }],
  [{ ...plain, kind: 'request', way: 'signal', priority: 'background', manager: 1 }],
  ...Array.from({ length: MAX_OVERTAKES - 2 }, () => [urgent]),
  [{ ...plain, kind: 'request', way: 'signal', manager: 2 }, urgent],
  [urgent],
  [urgent, urgent],
  [{ kind: 'priority', call: 1, priority: 'user-visible' }],
  [{ kind: 'priority', call: MAX_OVERTAKES, priority: 'user-blocking' }],
  [{ ...urgent, maxPending: MAX_OVERTAKES }],
  [{ kind: 'priority', call: 1, priority: 'user-blocking' }],
  [{ kind: 'priority', call: MAX_OVERTAKES, priority: 'background' }],
  ...Array.from({ length: MAX_OVERTAKES + 6 }, (_, i) => [
    { kind: 'finish', call: i, isFailure: false },
  ]),
];

let directory;
let brokerDirectory;

const OPENERS = {
  local() {
    const table = new LocalLockTable();
    return () => openLockManager({ backend: new LocalBackend(table) });
  },
  'shared-memory': () => () => openLockManager({ directory, bucket: 'differential' }),
  broker() {
    const options = { directory: brokerDirectory, bucket: 'differential' };
    return () => openLockManager({ backend: new BrokerBackend(options) });
  },
};

async function openManagers(backend) {
  const open = OPENERS[backend]();
  const managers = Array.from({ length: MANAGERS }, open);
  return { managers, clientIds: await clientIdsOf(managers) };
}

const PLAYED_BACKENDS = [...new Set(['local', ...BACKENDS])].filter((it) => it in OPENERS);
const buckets = {};
let historyCount = 0;

beforeAll(async () => {
  console.info(`HOLDFAST_SEED=${SEED} HOLDFAST_RUNS=${RUNS}`);
  // From here on it is known what is inside a callback, on every version of Node.
  await createLocalLockManager().request('first', { reentrant: true }, () => {});
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  brokerDirectory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  for (const backend of PLAYED_BACKENDS) buckets[backend] = await openManagers(backend);
});
afterAll(() => {
  for (const { managers } of Object.values(buckets)) {
    for (const locks of managers) locks.close();
  }
  rmSync(directory, { recursive: true, force: true });
  removeLocks(new BrokerFiles('differential', brokerDirectory));
});

function play(backend, history) {
  const { managers, clientIds } = buckets[backend];
  historyCount += 1;
  return new HistoryPlayer(managers, clientIds, `history ${historyCount}`, manual).play(history);
}

const check = (property, numRuns = RUNS) =>
  fc.assert(property, {
    seed: SEED,
    numRuns,
    endOnFailure: true,
    examples: [[siblings], [partlyLost], [overtaken]],
  });

const modesOf = (lines, name) =>
  lines
    .map((line) => line.split(' '))
    .filter((words) => words[0] === name)
    .map((words) => words[1]);

/** How many more of this mode there is room for beside shared holders. */
function roomFor(mode = 'exclusive', held) {
  if (mode === 'exclusive') return 0;
  const [, limit = Infinity] = mode.split('/');
  return Math.max(limit - held.length, 0);
}

describe.each(IN_PROCESS_BACKENDS)('random histories [%s]', (backend) => {
  test(
    'never show two holders that exclude each other, room with a queue, or an overtake too many',
    async () => {
      await check(
        fc.asyncProperty(histories, async (history) => {
          for (const { snapshot } of await play(backend, history)) {
            expect(Math.max(0, ...snapshot.overtakes)).toBeLessThanOrEqual(MAX_OVERTAKES);
            for (let name = 0; name < NAMES; name += 1) {
              const held = modesOf(snapshot.held, `${name}`);
              const pending = modesOf(snapshot.pending, `${name}`);
              if (held.includes('exclusive')) expect(held).toEqual(['exclusive']);
              if (held.length === 0) expect(pending).toEqual([]);
              if (held.length > 0 && held[0] !== 'exclusive')
                expect(roomFor(pending[0], held)).toBe(0);
            }
          }
        }),
      );
    },
    TIMEOUT_MS,
  );
});

if (IN_PROCESS_BACKENDS.length > 1) {
  test(
    'random histories show the same on all backends',
    async () => {
      await check(
        fc.asyncProperty(histories, async (history) => {
          const [reference, ...others] = IN_PROCESS_BACKENDS;
          const expected = await play(reference, history);
          for (const backend of others) expect(await play(backend, history)).toEqual(expected);
        }),
      );
    },
    TIMEOUT_MS,
  );
}

if (BACKENDS.includes('broker')) {
  test(
    'random histories, step by step, show the same over a broker',
    async () => {
      await check(
        fc.asyncProperty(histories, async (history) => {
          const steps = history.flat().map((it) => [it]); // the managers have a connection each
          expect(await play('broker', steps)).toEqual(await play('local', steps));
        }),
        BROKER_RUNS,
      );
    },
    TIMEOUT_MS,
  );
}
