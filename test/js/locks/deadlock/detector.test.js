'use strict';

const {
  unwatchForDeadlock,
  watchForDeadlock,
} = require('../../../../lib/locks/deadlock/detector.js');
const { WaitGraph } = require('../../../../lib/locks/deadlock/wait-graph.js');

const OUTER = { tokenHigh: 1, tokenLow: 0xffff_fff7 };
const TOKEN = (1n << 32n) | 0xffff_fff7n;

/** Shows these, and tells of whom it was asked. */
function backendOf(inspection) {
  const asked = [];
  /** @type {() => void} */
  let onAsked;
  const isAsked = new Promise((resolve) => (onAsked = () => resolve(undefined)));
  const waitsOf = async (ids) => {
    asked.push(...ids);
    onAsked();
    return structuredClone(inspection);
  };
  return { clientId: 'me', asked, isAsked, waitsOf };
}

const requestOf = (backendId, { isEnclosing, enclosing = OUTER, ...rest }) => ({
  backendId,
  extras: { enclosing },
  outer: { ...OUTER, isEnclosing },
  awaitState: 2,
  isNestedWait: true,
  isWatched: false,
  abort() {},
  ...rest,
});

test('a request is not looked for any more when the callback that it was made in has ended', async () => {
  const backend = backendOf({ held: [], pending: [] });
  watchForDeadlock(backend, requestOf(1, { isEnclosing: false }));
  watchForDeadlock(backend, requestOf(2, { isEnclosing: true }));
  await backend.isAsked;
  expect(backend.asked).toEqual([2]);
});

test('its option `deadlock` stands in the same word', async () => {
  const backend = backendOf({ held: [], pending: [] });
  const enclosing = { tokenHigh: (OUTER.tokenHigh | (1 << 30)) >>> 0, tokenLow: OUTER.tokenLow };
  watchForDeadlock(backend, requestOf(1, { isEnclosing: false, enclosing }));
  watchForDeadlock(backend, requestOf(2, { isEnclosing: true, enclosing }));
  await backend.isAsked;
  expect(backend.asked).toEqual([2]);
});

test('one that may be inside another lock is looked for all the same', async () => {
  const backend = backendOf({ held: [], pending: [] });
  const around = { tokenHigh: 0, tokenLow: 1 };
  watchForDeadlock(backend, requestOf(1, { isEnclosing: false, enclosing: around }));
  await backend.isAsked;
  expect(backend.asked).toEqual([1]);
});

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

const REJECT = 1n << 62n;

test('another one gives way, whatever it says of itself', async () => {
  // Ahead of the request that waits for its own lock, it is in a cycle with it.
  const backend = backendOf({
    held: [detailOf('a', 1, { token: TOKEN })],
    pending: [
      detailOf('a', 2, { enclosingToken: 5n | REJECT, since: 9 }),
      detailOf('a', 3, { enclosingToken: TOKEN | REJECT }),
    ],
  });
  const enclosing = { tokenHigh: (OUTER.tokenHigh | (1 << 30)) >>> 0, tokenLow: OUTER.tokenLow };
  const error = await new Promise((abort) => {
    const extras = { enclosing, deadlock: 'reject' };
    watchForDeadlock(backend, requestOf(3, { isEnclosing: true, extras, abort }));
  });
  expect(error).toMatchObject({ name: 'DeadlockError' });
});

test('the cycle is read once, for the warning, however many wait in it', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const read = jest.spyOn(WaitGraph.prototype, 'findCycle');
  const ids = Array.from({ length: 40 }, (_, i) => i + 2);
  const backend = backendOf({
    held: [detailOf('a', 1, { token: TOKEN })],
    pending: ids.map((id) => detailOf('a', id, { enclosingToken: TOKEN })),
  });
  const { waitsOf } = backend;
  const hasLookedAgain = new Promise((resolve) => {
    let walks = 0;
    backend.waitsOf = (...args) => {
      walks += 1;
      if (walks > 6) resolve(undefined); // three in each look
      return waitsOf(...args);
    };
  });
  for (const id of ids) watchForDeadlock(backend, requestOf(id, { isEnclosing: true }));
  await hasLookedAgain;
  expect(warn).toHaveBeenCalledTimes(1);
  expect(read.mock.calls.filter(([{ requestId }]) => requestId === ids.at(-1))).toHaveLength(1);
  warn.mockRestore();
  read.mockRestore();
});

const INNER = { tokenHigh: 2, tokenLow: 7 };
const INNER_TOKEN = (2n << 32n) | 7n;
/** The holder of 'x' waits for request 2, whose holder waits for request 3, which waits for 'x'. */
const CIRCLE = {
  held: [detailOf('x', 1, { token: TOKEN }), detailOf('y', 4, { token: INNER_TOKEN })],
  pending: [
    detailOf('y', 2, { enclosingToken: TOKEN }),
    detailOf('x', 3, { enclosingToken: INNER_TOKEN | REJECT }),
  ],
};

/** @param {(error: Error) => void} abort */
const closing = (abort) =>
  requestOf(3, {
    isEnclosing: true,
    enclosing: INNER,
    extras: { enclosing: INNER, deadlock: 'reject' },
    abort,
  });

/**
 * Ends one request as the table is read for that time, and makes another one with its number.
 * Resolves in the look after the next.
 */
function replaceAtRead(time, backend, request, next) {
  const { waitsOf } = backend;
  let walks = 0;
  return new Promise((resolve) => {
    backend.waitsOf = async (...args) => {
      walks += 1;
      const found = await waitsOf(...args);
      if (walks === time) {
        request.isNestedWait = false;
        unwatchForDeadlock(backend, request);
        watchForDeadlock(backend, next);
      }
      if (walks > 6) resolve(undefined); // three in each look
      return found;
    };
  });
}

test('a request that has the number of one that has ended is not taken for that one', async () => {
  const backend = backendOf(CIRCLE);
  const abort = jest.fn();
  const awaited = requestOf(2, { isEnclosing: true });
  const started = requestOf(2, { isEnclosing: true, awaitState: 0 });
  const hasLookedTwice = replaceAtRead(1, backend, awaited, started);
  watchForDeadlock(backend, awaited);
  watchForDeadlock(backend, closing(abort));
  await hasLookedTwice;
  expect(abort).not.toHaveBeenCalled();
});

test('a request that has ended is not taken for the one that has its number now', async () => {
  const shown = structuredClone(CIRCLE);
  const backend = backendOf(shown);
  const abort = jest.fn();
  const started = requestOf(2, { isEnclosing: true, awaitState: 1 }); // used, not awaited
  const hasLookedTwice = replaceAtRead(3, backend, started, requestOf(2, { isEnclosing: true }));
  const { waitsOf } = backend;
  let walks = 0;
  backend.waitsOf = (...args) => {
    walks += 1;
    if (walks > 3) shown.pending[0].name = 'free'; // what the new one waits for
    return waitsOf(...args);
  };
  watchForDeadlock(backend, started);
  watchForDeadlock(backend, closing(abort));
  await hasLookedTwice;
  expect(abort).not.toHaveBeenCalled();
});

test('a deadlock with such a request is found by a later look', async () => {
  const backend = backendOf(CIRCLE);
  const first = requestOf(2, { isEnclosing: true, awaitState: 0 });
  replaceAtRead(1, backend, first, requestOf(2, { isEnclosing: true }));
  const error = await new Promise((abort) => {
    watchForDeadlock(backend, first);
    watchForDeadlock(backend, closing(abort));
  });
  expect(error).toMatchObject({ name: 'DeadlockError' });
});

test('who has ended while the cycle was looked for is not rejected', async () => {
  const ours = 77; // the agents of the tests before look, too
  const pending = CIRCLE.pending.map((detail) => ({ ...detail, since: ours }));
  const backend = backendOf({ ...CIRCLE, pending });
  const abort = jest.fn();
  const request = closing(abort);
  const { findCycle } = WaitGraph.prototype;
  const find = jest.spyOn(WaitGraph.prototype, 'findCycle');
  await new Promise((resolve) => {
    find.mockImplementation(function* (start) {
      if (start.since === ours) {
        request.isNestedWait = false;
        unwatchForDeadlock(backend, request);
        setImmediate(() => setImmediate(resolve));
      }
      return yield* findCycle.call(this, start);
    });
    watchForDeadlock(backend, requestOf(2, { isEnclosing: true }));
    watchForDeadlock(backend, request);
  });
  expect(abort).not.toHaveBeenCalled();
  find.mockRestore();
});

test.each([7, 0xffff_fff7 | 0])(
  'a request of a reentrant callback that has ended is inside the lock that covers it (token %i)',
  async (tokenLow) => {
    const token = (1n << 32n) | BigInt(tokenLow >>> 0);
    const covering = { tokenHigh: 1, tokenLow, isEnclosing: true, outer: undefined };
    const ended = { tokenHigh: 1, tokenLow: tokenLow >>> 0, isEnclosing: false, outer: covering };
    const enclosingToken = token | REJECT;
    const backend = backendOf({
      held: [detailOf('x', 1, { token })],
      pending: [detailOf('x', 2, { enclosingToken })],
    });
    const enclosing = { tokenHigh: (1 | (1 << 30)) >>> 0, tokenLow: tokenLow >>> 0 };
    const error = await new Promise((abort) => {
      const extras = { enclosing, deadlock: 'reject' };
      watchForDeadlock(backend, requestOf(2, { outer: ended, extras, abort }));
    });
    expect(error).toMatchObject({ name: 'DeadlockError' });
  },
);

test('a look that fails is made again', async () => {
  const backend = backendOf(CIRCLE);
  const { waitsOf } = backend;
  let walks = 0;
  backend.waitsOf = async (...args) => {
    walks += 1;
    if (walks === 2) throw new Error('not now');
    return waitsOf(...args);
  };
  const error = await new Promise((abort) => {
    watchForDeadlock(backend, requestOf(2, { isEnclosing: true }));
    watchForDeadlock(backend, closing(abort));
  });
  expect(error).toMatchObject({ name: 'DeadlockError' });
});

test('nobody is rejected for a cycle one of which has ended after the table was read', async () => {
  const backend = backendOf(CIRCLE);
  const abort = jest.fn();
  const other = requestOf(2, { isEnclosing: true });
  const { waitsOf } = backend;
  let walks = 0;
  await new Promise((resolve) => {
    backend.waitsOf = async (...args) => {
      const found = await waitsOf(...args);
      walks += 1;
      if (walks === 3) {
        other.isNestedWait = false;
        unwatchForDeadlock(backend, other);
      }
      if (walks === 6) resolve(undefined); // in the next look, which shows it still
      return found;
    };
    watchForDeadlock(backend, other);
    watchForDeadlock(backend, closing(abort));
  });
  expect(abort).not.toHaveBeenCalled();
});
