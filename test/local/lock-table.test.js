'use strict';

const { LocalLockTable, readLists } = require('../../lib/backends/local/lock-table.js');
const { runAtOnce } = require('../../lib/sliced.js');

const DEFAULTS = {
  name: 'a',
  mode: 'exclusive',
  ifAvailable: false,
  steal: false,
  extras: undefined,
};

function createAgent() {
  const events = [];
  return {
    clientId: 'agent',
    pidFor: () => 1,
    events,
    onGranted: ({ request }) => events.push(`granted ${request.id}`),
    onLost: ({ request }, reason) => events.push(`${reason} ${request.id}`),
  };
}

let table;
let agent;
beforeEach(() => {
  table = new LocalLockTable();
  agent = createAgent();
});

const makeRequest = (id, options) => table.request(agent, { ...DEFAULTS, id, ...options });
const SHARED = { mode: 'shared' };
const snapshot = () => runAtOnce(readLists(table.snapshot()));

test('a release grants all shared requests up to the next exclusive one, in their order', () => {
  const holder = makeRequest(0);
  for (const [id, options] of [
    [1, SHARED],
    [2, SHARED],
    [3, {}],
    [4, SHARED],
  ]) {
    makeRequest(id, options);
  }
  table.remove(holder);
  expect(agent.events).toEqual(['granted 1', 'granted 2']);
});

test('a removed entry is removed once', () => {
  const holder = makeRequest(0);
  makeRequest(1);
  table.remove(holder);
  table.remove(holder);
  expect(agent.events).toEqual(['granted 1']);
});

test('steal takes from all holders in their order and grants nothing that is queued', () => {
  makeRequest(0, SHARED);
  makeRequest(1, SHARED);
  makeRequest(2);
  expect(makeRequest(3, { steal: true }).isHeld).toBe(true);
  expect(agent.events).toEqual(['stolen 0', 'stolen 1']);
});

test('removeAll() grants none of the removed entries', () => {
  const entries = [makeRequest(0), makeRequest(1), makeRequest(2)];
  makeRequest(3);
  table.removeAll(entries);
  expect(agent.events).toEqual(['granted 3']);
});

test('the tokens of grants rise over all names', () => {
  const tokens = ['a', 'b', 'a'].map((name, id) => {
    const entry = makeRequest(id, { name });
    table.remove(entry);
    return entry.request.tokenHigh * 2 ** 32 + entry.request.tokenLow;
  });
  expect(tokens).toEqual([...tokens].sort((one, other) => one - other));
});

test('names that are no longer used take no room, except for one', () => {
  for (let id = 0; id < 10; id += 1) {
    const outer = makeRequest(id, { name: `outer ${id}` });
    const inner = makeRequest(id, { name: `inner ${id}` });
    table.remove(outer);
    table.remove(inner);
  }
  expect(table.size).toBe(1);
  expect(snapshot()).toEqual({ held: [], pending: [] });
});

test('a name that is used again while it is the last unused one keeps its holder', () => {
  table.remove(makeRequest(0, { name: 'a' }));
  const holder = makeRequest(1, { name: 'a' });
  table.remove(makeRequest(2, { name: 'b' }));
  table.remove(makeRequest(3, { name: 'c' }));
  makeRequest(4, { name: 'a' });
  expect(snapshot()).toMatchObject({ held: [{ name: 'a' }], pending: [{ name: 'a' }] });
  table.remove(holder);
  expect(agent.events).toEqual(['granted 4']);
});

describe('the hold limit', () => {
  const HOLD = { extras: { limit: 0, holdLimit: 5, label: '' } };
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  /** Keeps the event loop busy, so that no timer can do it. */
  function blockFor(durationMs) {
    const end = performance.now() + durationMs;
    while (performance.now() < end);
  }

  test('is kept at the release, where the thread was too busy for the timer', () => {
    const holder = makeRequest(0, HOLD);
    makeRequest(1);
    blockFor(6);
    table.remove(holder);
    expect(holder.lossReason).toBe('expired');
    expect(agent.events).toEqual(['granted 1']);
  });

  describe('where the thread was too busy for the timer', () => {
    const LONG = { extras: { limit: 0, holdLimit: 60_000, label: '' } };
    let now;
    beforeEach(() => {
      now = 0;
      table = new LocalLockTable({ clock: { now: () => now, toWall: (t) => t } });
    });

    test.each([
      ['a request', () => makeRequest(2, { ifAvailable: true })],
      ['a steal', () => makeRequest(2, { steal: true })],
      ['isLocked()', () => table.isLocked('a', 1)],
      ['snapshot()', () => table.snapshot()],
      ['inspect()', () => table.inspect({})],
      ['holdersOf()', () => table.holdersOf('a', 1, {})],
    ])('is kept before %s finds the holders', (_what, use) => {
      makeRequest(0, LONG);
      makeRequest(1);
      now = 60_000;
      use();
      expect(agent.events.slice(0, 2)).toEqual(['expired 0', 'granted 1']);
    });

    test('ends each of several shared holders at its own time', () => {
      makeRequest(0, { ...SHARED, ...LONG });
      now = 30_000;
      makeRequest(1, { ...SHARED, ...LONG });
      makeRequest(2, SHARED);
      now = 60_000;
      expect([table.isLocked('a', 3), table.isLocked('a', 2)]).toEqual([false, true]);
      now = 90_000;
      expect([table.isLocked('a', 2), table.isLocked('a', 1)]).toEqual([false, true]);
      expect(agent.events).toEqual(['expired 0', 'expired 1']);
    });
  });

  test('says nothing about a lock that was given up before', async () => {
    table.remove(makeRequest(0, HOLD));
    blockFor(6);
    await nextTurn();
    await nextTurn();
    expect(agent.events).toEqual([]);
  });
});

test('a name whose requests ended together with others, in any order, has one table entry', () => {
  const [first, other, second] = ['a', 'b', 'a'].map((name, id) => makeRequest(id, { name }));
  table.removeAll([first, other, second]);
  const holder = makeRequest(3, { name: 'a' });
  // Another name is forgotten, and with it what was forgotten before.
  table.remove(makeRequest(4, { name: 'c' }));
  table.remove(makeRequest(5, { name: 'd' }));
  const waiting = makeRequest(6, { name: 'a' });
  expect([holder.isHeld, waiting.isQueued]).toEqual([true, true]);
  expect(snapshot()).toMatchObject({ held: [{ name: 'a' }], pending: [{ name: 'a' }] });
});
