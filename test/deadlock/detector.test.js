'use strict';

const { unwatchForDeadlock, watchForDeadlock } = require('../../lib/locks/deadlock/detector.js');
const { WaitGraph } = require('../../lib/locks/deadlock/wait-graph.js');

const OUTER = { tokenHigh: 1, tokenLow: 0xffff_fff7 };
const TOKEN = (1n << 32n) | 0xffff_fff7n;
const INNER = { tokenHigh: 2, tokenLow: 7 };
const INNER_TOKEN = (2n << 32n) | 7n;
const REJECT = 1n << 62n;
/** The looks of a check of a stuck request: without the queues, and twice with them. */
const WALKS_PER_CHECK = 3;

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

/** The holder of 'x' waits for request 2, whose holder waits for request 3, which waits for 'x'. */
const cycle = () => ({
  held: [detailOf('x', 1, { token: TOKEN }), detailOf('y', 4, { token: INNER_TOKEN })],
  pending: [
    detailOf('y', 2, { enclosingToken: TOKEN }),
    detailOf('x', 3, { enclosingToken: INNER_TOKEN | REJECT }),
  ],
});

/** Shows a table, which tests change, and calls a listener before each look. */
function backendOf(table) {
  const backend = {
    ...{ clientId: 'me', table, requested: [], walks: 0 },
    onWalk: (/** @type {number} */ _walks) => {},
    async waitsOf(ids) {
      backend.requested.push(...ids);
      backend.walks += 1;
      backend.onWalk(backend.walks);
      return structuredClone(backend.table);
    },
  };
  return backend;
}

/** Until a look, counted from 1. */
const untilWalk = (backend, number) =>
  new Promise((resolve) => {
    const { onWalk } = backend;
    backend.onWalk = (walks) => {
      onWalk(walks);
      if (walks === number) resolve('looked');
    };
  });

const requestOf = (backendId, { isEnclosing = true, enclosing = OUTER, ...rest } = {}) => ({
  backendId,
  extras: { enclosing },
  outer: { ...OUTER, isEnclosing },
  isNestedWait: true,
  isWatched: false,
  abort() {},
  ...rest,
});

/** Request 3 of the cycle. */
const closing = (abort) =>
  requestOf(3, { enclosing: INNER, extras: { enclosing: INNER, deadlock: 'reject' }, abort });

/** Watches both requests of the cycle. */
function watchCycle(backend, abort) {
  const requests = { other: requestOf(2), victim: closing(abort) };
  for (const request of Object.values(requests)) watchForDeadlock(backend, request);
  return requests;
}

const end = (backend, request) => {
  request.isNestedWait = false;
  unwatchForDeadlock(backend, request);
};

const DEADLOCK = { name: 'DeadlockError' };

test.each([
  ['', 0],
  [', also with an option `deadlock` beside the token', 1 << 30],
])('a request is not checked once the callback that made it has ended%s', async (_, bits) => {
  const backend = backendOf({ held: [], pending: [] });
  const enclosing = { tokenHigh: (OUTER.tokenHigh | bits) >>> 0, tokenLow: OUTER.tokenLow };
  watchForDeadlock(backend, requestOf(1, { isEnclosing: false, enclosing }));
  watchForDeadlock(backend, requestOf(2, { enclosing }));
  await untilWalk(backend, 1);
  expect(backend.requested).toEqual([2]);
});

test.each([7, 0xffff_fff7 | 0])(
  'a request of a reentrant callback that has ended is inside the lock that covers it (token %i)',
  async (tokenLow) => {
    const token = (1n << 32n) | BigInt(tokenLow >>> 0);
    const covering = { tokenHigh: 1, tokenLow, isEnclosing: true, outer: undefined };
    const ended = { tokenHigh: 1, tokenLow: tokenLow >>> 0, isEnclosing: false, outer: covering };
    const backend = backendOf({
      held: [detailOf('x', 1, { token })],
      pending: [detailOf('x', 2, { enclosingToken: token | REJECT })],
    });
    const enclosing = { tokenHigh: (1 | (1 << 30)) >>> 0, tokenLow: tokenLow >>> 0 };
    const error = await new Promise((abort) => {
      const extras = { enclosing, deadlock: 'reject' };
      watchForDeadlock(backend, requestOf(2, { outer: ended, extras, abort }));
    });
    expect(error).toMatchObject(DEADLOCK);
  },
);

test('a cycle of other requests at each check is no deadlock; a lasting cycle is', async () => {
  const changing = backendOf(cycle());
  const abort = jest.fn();
  changing.onWalk = (walks) => {
    if (walks % WALKS_PER_CHECK === 1) changing.table.pending[0].since += 1;
  };
  watchCycle(changing, abort);
  const standing = backendOf(cycle());
  expect(await new Promise((reject) => watchCycle(standing, reject))).toMatchObject(DEADLOCK);
  await untilWalk(changing, 4 * WALKS_PER_CHECK);
  expect(abort).not.toHaveBeenCalled();
});

test('a cycle that stands is a deadlock, although more requests join it at each check', async () => {
  const backend = backendOf(cycle());
  const { pending } = backend.table;
  backend.onWalk = (walks) => {
    pending.push(detailOf('y', 100 + walks, { enclosingToken: TOKEN, clientId: 'other' }));
  };
  expect(await new Promise((reject) => watchCycle(backend, reject))).toMatchObject(DEADLOCK);
});

test.each(['me', 'other'])(
  'one with reject that was not stuck is rejected once a request of "%s" closes a cycle',
  async (clientId) => {
    const [closer, waiting] = cycle().pending;
    const backend = backendOf({ held: cycle().held, pending: [waiting] });
    const rejected = new Promise((abort) => watchForDeadlock(backend, closing(abort)));
    await untilWalk(backend, 1);
    backend.table.pending.push({ ...closer, clientId, since: 99 });
    if (clientId === 'me') watchForDeadlock(backend, requestOf(2));
    expect(await rejected).toMatchObject(DEADLOCK);
  },
);

test('a request that is not stuck for long delays no check of others', async () => {
  const backend = backendOf({ held: cycle().held, pending: [cycle().pending[0]] });
  watchForDeadlock(backend, requestOf(2));
  await untilWalk(backend, 5); // the next time in three seconds
  backend.requested.length = 0;
  for (const id of [5, 6]) {
    watchForDeadlock(backend, requestOf(id));
    await new Promise((resolve) => {
      backend.onWalk = () => backend.requested.includes(id) && resolve(undefined);
    });
  }
  expect(backend.requested).not.toContain(2);
});

test('the cycle is read once, for the warning, however many wait in it', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const read = jest.spyOn(WaitGraph.prototype, 'findCycle');
  const ids = Array.from({ length: 40 }, (_, i) => i + 2);
  const backend = backendOf({
    held: [detailOf('a', 1, { token: TOKEN })],
    pending: ids.map((id) => detailOf('a', id, { enclosingToken: TOKEN })),
  });
  for (const id of ids) watchForDeadlock(backend, requestOf(id));
  await untilWalk(backend, 4 * WALKS_PER_CHECK);
  // Another request joins the deadlock, and is its youngest.
  watchForDeadlock(backend, requestOf(50));
  backend.table.pending.push(detailOf('a', 50, { enclosingToken: TOKEN }));
  await untilWalk(backend, 8 * WALKS_PER_CHECK);
  expect(warn).toHaveBeenCalledTimes(1);
  expect(read.mock.calls.filter(([{ requestId }]) => requestId >= ids.at(-1))).toHaveLength(1);
  warn.mockRestore();
  read.mockRestore();
});

test.each([
  ['victim', 77],
  ['other', 78],
])(
  'no request is rejected if the %s of the cycle ended after the table was read',
  async (which, ours) => {
    const table = cycle();
    for (const detail of table.pending) detail.since = ours; // agents of other tests look, too
    const backend = backendOf(table);
    const abort = jest.fn();
    const requests = watchCycle(backend, abort);
    const { findCycle } = WaitGraph.prototype;
    const find = jest.spyOn(WaitGraph.prototype, 'findCycle');
    await new Promise((resolve) => {
      find.mockImplementation(function* (start) {
        const found = yield* findCycle.call(this, start);
        if (found.some(({ since }) => since === ours)) {
          end(backend, requests[which]);
          setImmediate(() => setImmediate(resolve));
        }
        return found;
      });
    });
    find.mockRestore();
    expect(abort).not.toHaveBeenCalled();
  },
);

test('a new request with the number of the victim is not taken for it', async () => {
  const backend = backendOf(cycle());
  const [ofVictim, ofNext] = [jest.fn(), jest.fn()];
  const { victim } = watchCycle(backend, ofVictim);
  await untilWalk(backend, 2 * WALKS_PER_CHECK); // the last look before it would be rejected
  end(backend, victim);
  watchForDeadlock(backend, closing(ofNext));
  await untilWalk(backend, 2 * WALKS_PER_CHECK + 1);
  expect(ofVictim).not.toHaveBeenCalled();
  expect(ofNext).not.toHaveBeenCalled();
});

test('a look that fails is made again', async () => {
  const backend = backendOf(cycle());
  backend.onWalk = (walks) => {
    if (walks === 2) throw new Error('not now');
  };
  expect(await new Promise((reject) => watchCycle(backend, reject))).toMatchObject(DEADLOCK);
});
