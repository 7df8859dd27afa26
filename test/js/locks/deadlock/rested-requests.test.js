'use strict';

// Requests that could go on when they were looked at, and what becomes of a later cycle.

const { watchForDeadlock } = require('../../../../lib/locks/deadlock/detector.js');

const OUTER = { tokenHigh: 1, tokenLow: 7 };
const TOKEN = (1n << 32n) | 7n;
const OTHER_OUTER = { tokenHigh: 1, tokenLow: 8 };
const OTHER_TOKEN = (1n << 32n) | 8n;
const ACTIONS = { warn: 0n, reject: 1n, ignore: 2n };

const UNSEEN = 0;
const AWAITED = 2;

/** Shows what is in its table, and counts how often it was asked about each request. */
function fakeBackend() {
  const table = { held: [], pending: [] };
  const asked = new Map();
  const listeners = new Set();
  const waitsOf = async (ids) => {
    for (const id of ids) asked.set(id, (asked.get(id) ?? 0) + 1);
    for (const listener of listeners) listener();
    return structuredClone(table);
  };
  /** Until it was asked about a request so many times. */
  const untilAsked = (id, times) =>
    new Promise((resolve) => {
      listeners.add(() => {
        if ((asked.get(id) ?? 0) >= times) resolve('asked again');
      });
    });
  return { clientId: 'me', table, waitsOf, untilAsked, listeners };
}

const detailOf = (name, requestId, about) => ({
  name,
  mode: 'exclusive',
  clientId: 'me',
  requestId,
  token: null,
  enclosingToken: null,
  pid: 1,
  threadId: 0,
  since: requestId,
  waited: 0,
  held: 0,
  limit: 0,
  holdLimit: 0,
  ...about,
});

/** Its holders of 'a' and of 'b'. */
const holders = () => [
  detailOf('a', 11, { token: TOKEN }),
  detailOf('b', 12, { token: OTHER_TOKEN }),
];

/** A request for 'b' in the callback that holds 'a', or the other way round. */
function waitFor(backend, name, requestId, options) {
  const { deadlock, awaitState = AWAITED, clientId = 'me', started = {} } = options;
  const [outer, token] = name === 'b' ? [OUTER, TOKEN] : [OTHER_OUTER, OTHER_TOKEN];
  const enclosingToken = token | (ACTIONS[deadlock] << 62n);
  backend.table.pending.push(detailOf(name, requestId, { enclosingToken, clientId }));
  return new Promise((abort) => {
    if (clientId !== 'me') return;
    started.request = {
      backendId: requestId,
      extras: { enclosing: outer, deadlock },
      outer: { ...outer, isEnclosing: true },
      awaitState,
      isNestedWait: true,
      isWatched: false,
      abort,
    };
    watchForDeadlock(backend, started.request);
  });
}

/** @type {ReturnType<typeof fakeBackend>} */
let backend;
beforeEach(() => {
  backend = fakeBackend();
  backend.table.held = holders();
});

test.each(['warn', 'reject'])(
  'a request with %s that nobody awaits is in no deadlock, also after it was looked at',
  async (deadlock) => {
    const isAsked = backend.untilAsked(1, 1);
    void waitFor(backend, 'b', 1, { deadlock, awaitState: UNSEEN });
    await isAsked;
    const aborted = waitFor(backend, 'a', 2, { deadlock: 'reject' });
    expect(await Promise.race([aborted, backend.untilAsked(2, 4)])).toBe('asked again');
  },
);

test('nor is one that ignores deadlocks', async () => {
  void waitFor(backend, 'b', 1, { deadlock: 'ignore', awaitState: UNSEEN });
  const aborted = waitFor(backend, 'a', 2, { deadlock: 'reject' });
  expect(await Promise.race([aborted, backend.untilAsked(2, 4)])).toBe('asked again');
});

test('nor is one that is made while the table is read', async () => {
  const make = () => {
    backend.listeners.delete(make);
    void waitFor(backend, 'b', 3, { deadlock: 'warn', awaitState: UNSEEN });
  };
  backend.listeners.add(make);
  const aborted = waitFor(backend, 'a', 2, { deadlock: 'reject' });
  expect(await Promise.race([aborted, backend.untilAsked(2, 4)])).toBe('asked again');
});

test.each(['warn', 'reject'])(
  'a promise that is awaited late closes a cycle (%s)',
  async (deadlock) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const isWarned = new Promise((resolve) => warn.mockImplementation(resolve));
    const started = {};
    void waitFor(backend, 'b', 1, { deadlock: 'warn', awaitState: UNSEEN, started });
    const aborted = waitFor(backend, 'a', 2, { deadlock });
    await Promise.all([backend.untilAsked(1, 2), backend.untilAsked(2, 2)]); // both can go on
    started.request.awaitState = AWAITED;
    if (deadlock === 'reject') expect(await aborted).toMatchObject({ name: 'DeadlockError' });
    else expect(await isWarned).toContain('Deadlock');
    warn.mockRestore();
  },
);

test.each([
  ['this agent', 'warn', 'me'],
  ['this agent', 'ignore', 'me'],
  ['another agent', 'warn', 'other'],
  ['another agent', 'ignore', 'other'],
])(
  'one with reject is rejected when a later request of %s closes a cycle with %s',
  async (_whose, deadlock, clientId) => {
    const isAsked = backend.untilAsked(1, 1);
    const aborted = waitFor(backend, 'b', 1, { deadlock: 'reject' });
    await isAsked;
    void waitFor(backend, 'a', 2, { deadlock, clientId });
    expect(await aborted).toMatchObject({ name: 'DeadlockError' });
  },
);

test('one that can go on for long holds up no look at others', async () => {
  const options = { deadlock: 'warn', awaitState: UNSEEN };
  void waitFor(backend, 'b', 1, options);
  await backend.untilAsked(1, 5); // the next time in three seconds
  let isAskedAgain = false;
  void backend.untilAsked(1, 6).then(() => (isAskedAgain = true));
  for (const id of [2, 3]) {
    void waitFor(backend, 'a', id, options);
    await backend.untilAsked(id, 1);
  }
  expect(isAskedAgain).toBe(false);
});
