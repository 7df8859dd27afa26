'use strict';

const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Worker } = require('node:worker_threads');
const { loadBinding } = require('../../lib/binding.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { GRANTED, MISSED, QUEUED } = require('../../lib/backends/outcome.js');
const { makeRequest } = require('../support/recorded-request.js');
const { sleepPastATurn } = require('../support/sleep-for.js');

const MAX_BIASED = 8;

let directory;
let backends;
/** Names of the native functions that were called since. */
let calls;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  backends = [];
  calls = [];
});
afterEach(() => {
  for (const backend of backends) backend.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A backend whose native calls are noted. */
function open(options = {}) {
  const native = loadBinding();
  const { openAgent } = native;
  native.openAgent = (...args) => {
    const agent = openAgent(...args);
    // Reaches the agent, which is freed otherwise.
    const note = (name) => [name, (...values) => (calls.push(name), agent[name](...values))];
    return Object.fromEntries(Object.keys(agent).map(note));
  };
  try {
    const backend = new SharedMemoryBackend({ directory, sweeps: false, ...options });
    backends.push(backend);
    return backend;
  } finally {
    native.openAgent = openAgent;
  }
}

/** Requests and releases the lock, until the lock is biased. */
function bias(backend, name = 'a') {
  for (let i = 0; i < 2; i += 1) backend.release(makeRequest(backend, GRANTED, name));
  expect(calls.at(-1)).not.toBe('end');
  calls = [];
}

/** Acquires the biased lock: only the renewal of the budget may be a native call. */
function acquire(backend, name = 'a', options = {}) {
  const before = calls.length;
  const request = makeRequest(backend, GRANTED, name, options);
  expect(calls.slice(before).filter((call) => call !== 'renewBudget')).toEqual([]);
  return request;
}

const isBiased = (backend, name = 'a') => {
  calls = [];
  backend.release(makeRequest(backend, GRANTED, name));
  return !calls.includes('request') && !calls.includes('requestAgain');
};

describe('a lock that is requested again', () => {
  test('is granted and released without a native call', () => {
    const backend = open();
    bias(backend);
    for (let i = 0; i < 100; i += 1) backend.release(acquire(backend));
    expect(calls).toEqual(['renewBudget']);
  });

  test('has a token for each hold, which rises by one', () => {
    const backend = open();
    bias(backend);
    const tokens = [];
    for (let i = 0; i < 3; i += 1) {
      const request = acquire(backend);
      tokens.push(request.token);
      backend.release(request);
    }
    const last = makeRequest(open(), GRANTED, 'b');
    expect([...tokens, last.token]).toEqual([0n, 1n, 2n, 3n].map((i) => tokens[0] + i));
  });

  test('is held while it is taken, and free while it is not, for every reader', async () => {
    const [backend, other] = [open(), open()];
    for (const who of [backend, other]) {
      bias(backend, `for ${who === other}`);
      const name = `for ${who === other}`;
      expect((await who.inspect()).held).toEqual([]);
      for (let i = 0; i < 10; i += 1) backend.release(makeRequest(backend, GRANTED, name));
      const request = acquire(backend, name, { mode: 'shared' });
      expect((await who.inspect()).held).toMatchObject([
        { name, mode: 'shared', token: request.token, clientId: backend.clientId },
      ]);
      expect(who.isLocked(name)).toBe(true);
      expect(who.holdersOf(name)).toMatchObject([{ token: request.token }]);
      expect(backend.release(request)).toBe(undefined);
      expect(who.isLocked(name)).toBe(false);
      expect(who.holdersOf(name)).toEqual([]);
      expect((await who.snapshot()).held).toEqual([]);
    }
  });

  test('is there for another agent at once', () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const theirs = makeRequest(other, GRANTED, 'a');
    makeRequest(backend, MISSED, 'a', { ifAvailable: true });
    other.release(theirs);
  });

  test('makes another agent wait while it is taken, which is granted it then', async () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const mine = acquire(backend);
    makeRequest(other, MISSED, 'a', { ifAvailable: true });
    const theirs = makeRequest(other, QUEUED, 'a');
    expect(backend.release(mine)).toBe(undefined);
    await theirs.until('granted');
    expect(theirs.token > mine.token).toBe(true);
  });

  test('makes this agent wait for itself', async () => {
    const backend = open();
    bias(backend);
    const first = acquire(backend);
    const second = makeRequest(backend, QUEUED, 'a');
    backend.release(first);
    await second.until('granted');
    backend.release(second);
  });

  test('can be shared by others', async () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const mine = acquire(backend, 'a', { mode: 'shared' });
    const theirs = makeRequest(other, GRANTED, 'a', { mode: 'shared' });
    const writer = makeRequest(other, QUEUED, 'a');
    backend.release(mine);
    other.release(theirs);
    await writer.until('granted');
  });

  test('stays locked while another request of this agent shares it and is released', () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const first = acquire(backend, 'a', { mode: 'shared' });
    for (let i = 0; i < 4; i += 1) {
      backend.release(makeRequest(backend, GRANTED, 'a', { mode: 'shared' }));
      makeRequest(other, MISSED, 'a', { ifAvailable: true });
    }
    expect(backend.release(first)).toBe(undefined);
    other.release(makeRequest(other, GRANTED, 'a'));
  });

  test('is stolen while it is taken, and its holder is notified', async () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const mine = acquire(backend);
    const theirs = makeRequest(other, GRANTED, 'a', { steal: true });
    await mine.until('lost: stolen');
    other.release(theirs);
    expect(backend.release(mine)).toBe(undefined);
    backend.release(makeRequest(backend, GRANTED, 'a'));
  });

  test('has a separate record again after a theft, though its id is the same', async () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const mine = acquire(backend);
    const id = mine.backendId;
    other.release(makeRequest(other, GRANTED, 'a', { steal: true }));
    await mine.until('lost: stolen');
    const extras = {
      limit: 0,
      holdLimit: 0,
      maxPending: Infinity,
      label: 'x',
      callSite: '',
      deadlock: 'warn',
    };
    const next = makeRequest(backend, GRANTED, 'a', { extras });
    expect(next.backendId).toBe(id); // the view of the old record is detached
    expect(backend.release(next)).toBe(undefined);
    expect(other.isLocked('a')).toBe(false);
  });

  test('notifies a release of a loss that was not delivered yet', () => {
    const [backend, other] = [open(), open()];
    bias(backend);
    const mine = acquire(backend);
    makeRequest(other, GRANTED, 'a', { steal: true });
    expect(backend.release(mine)).toBe('stolen');
  });

  test('is released by a blocking release', () => {
    const backend = open();
    bias(backend);
    expect(backend.releaseSync(acquire(backend))).toBe(undefined);
    expect(calls).toEqual(['renewBudget']);
  });

  test('is biased in its last mode, and acquired in any', () => {
    const backend = open();
    bias(backend);
    for (const mode of ['shared', 'exclusive', 'shared']) {
      const request = acquire(backend, 'a', { mode });
      expect(backend.holdersOf('a')).toMatchObject([{ mode }]);
      backend.release(request);
      calls = [];
      for (let i = 0; i < 40; i += 1) backend.release(makeRequest(backend, GRANTED, 'a'));
    }
  });
});

test('locks that are requested once are not biased', () => {
  const backend = open();
  for (let i = 0; i < 50; i += 1) backend.release(makeRequest(backend, GRANTED, `${i}`));
  expect(calls).not.toContain('endOrBias');
});

test('an agent has a few biased locks, and requests others as before', () => {
  const backend = open();
  for (let i = 0; i < MAX_BIASED; i += 1) bias(backend, `${i}`);
  for (let i = 0; i < 3; i += 1) expect(isBiased(backend, 'another')).toBe(false);
  for (let i = 0; i < MAX_BIASED; i += 1) expect(isBiased(backend, `${i}`)).toBe(true);
});

test('a full table reclaims the cells of biased locks', () => {
  const backend = open({ capacity: 2 ** 20 });
  for (let i = 0; i < MAX_BIASED; i += 1) bias(backend, `${i}`);
  const { held } = fill(backend);
  expect(held.length).toBeGreaterThan(100);
  for (const request of held) backend.release(request);
  for (let i = 0; i < MAX_BIASED; i += 1) backend.release(makeRequest(backend, GRANTED, `${i}`));
});

/** Requests locks until the table is full. */
function fill(backend) {
  const held = [];
  try {
    for (;;) held.push(makeRequest(backend, GRANTED, `${'x'.repeat(2000)} ${held.length}`));
  } catch (error) {
    expect(error.name).toBe('QuotaExceededError');
    return { held, error };
  }
}

test('a watcher sees every lock from its beginning on, and no lock is biased meanwhile', async () => {
  const [backend, other] = [open(), open()];
  bias(backend);
  const before = acquire(backend);
  const watch = other.watch('a');
  backend.release(before);
  for (let i = 0; i < 20; i += 1) backend.release(makeRequest(backend, GRANTED, 'a'));
  const seen = [];
  while (seen.length < 41) seen.push(...(await watch.read(100)));
  expect(seen.map(({ type }) => type)).toEqual([
    'released',
    ...Array(20).fill(['granted', 'released']).flat(),
  ]);
  watch.close();
});

test('a lock of agents that alternate is biased no more', () => {
  const [backend, other] = [open(), open()];
  bias(backend);
  calls = [];
  for (let i = 0; i < 1000; i += 1) {
    backend.release(makeRequest(backend, GRANTED, 'a'));
    other.release(makeRequest(other, GRANTED, 'a'));
  }
  expect(calls.filter((call) => call === 'endOrBias').length).toBeLessThan(20);
});

test('a lock that is biased again after it was revoked stays biased', () => {
  const [backend, other] = [open(), open()];
  bias(backend);
  for (let i = 0; i < 100; i += 1) backend.release(acquire(backend)); // it was worth while
  const theirs = makeRequest(other, GRANTED, 'a');
  other.release(theirs);
  // Ordinary requests, until the lock is biased again.
  for (let i = 0; i < 12; i += 1) backend.release(makeRequest(backend, GRANTED, 'a'));
  calls = [];
  for (let i = 0; i < 20; i += 1) backend.release(acquire(backend));
  expect(calls.length).toBeLessThanOrEqual(1);
});

describe('close()', () => {
  test('releases biased locks, acquired or not', () => {
    const [backend, other] = [open(), open()];
    bias(backend, 'a');
    bias(backend, 'b');
    const mine = acquire(backend, 'a');
    backend.close();
    expect(mine.notices).toEqual(['lost: disconnected']);
    expect(backend.release(mine)).toBe(undefined);
    expect(() => backend.enqueue(mine)).toThrow('closed');
    for (const name of ['a', 'b']) makeRequest(other, GRANTED, name);
  });
});

test('a thread that ends leaves its biased and held locks to others', async () => {
  const program = `
    const { locks } = require(${JSON.stringify(require.resolve('../../lib/index.js'))});
    (async () => {
      for (let i = 0; i < 3; i += 1) await locks.request('a', () => {});
      globalThis.held = await locks.acquire('a');
      process.exit();
    })();
  `;
  const env = { ...process.env, HOLDFAST_DIR: directory };
  await once(new Worker(program, { eval: true, env }), 'exit');
  makeRequest(open(), GRANTED, 'a');
});

test('the loss of the lock table is reported, and biased locks are forgotten', async () => {
  const backend = open();
  bias(backend, 'a');
  bias(backend, 'b');
  const mine = acquire(backend, 'a');
  rmSync(join(directory, 'default'), { recursive: true });
  await sleepPastATurn(20); // it looks every 10 ms, once per turn
  expect(() => makeRequest(backend, GRANTED, 'b')).toThrow('removed or replaced');
  await mine.until('lost: disconnected');
  makeRequest(backend, GRANTED, 'b');
  makeRequest(open(), MISSED, 'b', { ifAvailable: true }); // in the table that is there now
});

test('an environment without external buffers goes the ordinary way', () => {
  const native = loadBinding();
  const { openAgent } = native;
  native.openAgent = (...args) =>
    Object.assign(Object.create(openAgent(...args)), { view: () => null });
  const backend = new SharedMemoryBackend({ directory, sweeps: false });
  native.openAgent = openAgent;
  for (let i = 0; i < 5; i += 1) backend.release(makeRequest(backend, GRANTED, 'a'));
  expect(backend.isLocked('a')).toBe(false);
  backend.close();
});
