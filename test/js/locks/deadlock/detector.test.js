'use strict';

const { watchForDeadlock } = require('../../../../lib/locks/deadlock/detector.js');
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
