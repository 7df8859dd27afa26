'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable, readLists } = require('../../lib/backends/local/lock-table.js');
const { GRANTED } = require('../../lib/backends/outcome.js');
const { runSliced } = require('../../lib/sliced.js');
const { removeLocks } = require('../support/broker-process.js');
const { RecordedRequest } = require('../support/recorded-request.js');

const ALONE = { withQueues: false };
const ALL = { withQueues: true };
const NO_EXTRAS = { limit: 0, holdLimit: 0, maxPending: Infinity, label: '', callSite: '' };

const namesOf = (locks) => locks.map(({ name }) => name).sort();

describe('walkWaits()', () => {
  let table;
  let agents;
  let time;
  beforeEach(() => {
    time = 0;
    const clock = { now: () => time, toWall: (t) => t };
    table = new LocalLockTable({ clock });
    agents = ['a', 'b', 'c'].map((thread) => toAgent(thread));
  });

  const toAgent = (thread) => ({
    ...{ clientId: thread, threadId: 0, thread, entries: [] },
    ...{ pidFor: () => 1, onGranted() {}, onLost() {} },
  });

  /** Each request a millisecond after the one before. */
  function makeRequest(agent, name, { enclosing, holdLimit = 0, mode = 'exclusive' } = {}) {
    time += 1;
    const extras = { ...NO_EXTRAS, holdLimit, enclosing };
    const entry = table.request(agent, new RecordedRequest(name, { mode, extras }));
    agent.entries.push(entry);
    return entry;
  }

  async function walk(start, options = ALONE) {
    const entriesOf = ({ thread }) =>
      agents.flatMap((agent) => (agent.thread === thread ? agent.entries : []));
    const found = table.waitsOf([start], options, agents[0], entriesOf);
    const { held, pending } = await runSliced(readLists(found));
    return { held: namesOf(held), pending: namesOf(pending), details: { held, pending } };
  }

  test('reads the request and its holder, and nothing else', async () => {
    const [a, b, c] = agents;
    makeRequest(a, 'n');
    makeRequest(c, 'elsewhere');
    makeRequest(a, 'elsewhere');
    expect(await walk(makeRequest(b, 'n'))).toMatchObject({ held: ['n'], pending: ['n'] });
  });

  test('reads what the holder waits for inside its callback', async () => {
    const [a, b, c] = agents;
    const outer = makeRequest(a, 'n');
    makeRequest(c, 'inner');
    // The option `deadlock` is beside the token.
    const { tokenHigh, tokenLow } = outer.request;
    makeRequest(a, 'inner', { enclosing: { tokenHigh: (tokenHigh | (1 << 30)) >>> 0, tokenLow } });
    const found = await walk(makeRequest(b, 'n'));
    expect(found).toMatchObject({ held: ['inner', 'n'], pending: ['inner', 'n'] });
  });

  test('reads through a lock that is held inside another', async () => {
    const [a, b, c] = agents;
    const outer = makeRequest(a, 'outer');
    const middle = makeRequest(a, 'middle', { enclosing: outer.request });
    makeRequest(c, 'inner');
    makeRequest(a, 'inner', { enclosing: middle.request });
    expect((await walk(makeRequest(b, 'outer'))).held).toEqual(['inner', 'middle', 'outer']);
  });

  test('passes over what the holder waits for outside', async () => {
    const [a, b, c] = agents;
    makeRequest(a, 'n');
    const other = makeRequest(a, 'other');
    makeRequest(c, 'inner');
    makeRequest(a, 'inner', { enclosing: other.request });
    expect((await walk(makeRequest(b, 'n'))).held).toEqual(['n']);
  });

  test('follows the other agents of a thread', async () => {
    const [a, b, c] = agents;
    const second = toAgent('a');
    agents.push(second);
    const outer = makeRequest(a, 'n');
    makeRequest(c, 'inner');
    makeRequest(second, 'inner', { enclosing: outer.request });
    expect((await walk(makeRequest(b, 'n'))).held).toEqual(['inner', 'n']);
  });

  test('passes over a holder whose time is limited', async () => {
    const [a, b, c] = agents;
    const outer = makeRequest(a, 'n', { holdLimit: 60_000 });
    makeRequest(c, 'inner');
    makeRequest(a, 'inner', { enclosing: outer.request });
    expect((await walk(makeRequest(b, 'n'))).held).toEqual(['n']);
    table.remove(outer); // and its timer
  });

  test('requests that another thread made inside a lock of that name are not read', async () => {
    const [a, b, c] = agents;
    const outer = makeRequest(a, 'n');
    makeRequest(c, 'foreign');
    makeRequest(b, 'foreign', { enclosing: outer.request });
    expect((await walk(makeRequest(b, 'n'), ALL)).held).toEqual(['n']);
  });

  test('reads the queue only where it is asked to, and in its order', async () => {
    const [a, b, c] = agents;
    makeRequest(a, 'n');
    makeRequest(c, 'n');
    const start = makeRequest(b, 'n');
    makeRequest(a, 'n', { mode: 'shared' });
    expect((await walk(start)).pending).toEqual(['n']);
    const { pending } = (await walk(start, ALL)).details;
    expect(pending.map(({ clientId }) => clientId)).toEqual(['c', 'b', 'a']);
  });

  test('requests of one moment come in the order in which they were made', async () => {
    const [a] = agents;
    makeRequest(a, 'n');
    const labels = ['a', 'b', 'c', 'd'];
    const [, , third] = labels.map((label) =>
      table.request(a, new RecordedRequest('n', { extras: { ...NO_EXTRAS, label } })),
    );
    const { pending } = (await walk(third, ALL)).details;
    expect(pending.map(({ label }) => label)).toEqual(labels);
  });

  test('ends where locks seem to be inside each other', async () => {
    const [a, b, c] = agents;
    const one = makeRequest(a, 'one', { enclosing: { tokenHigh: 1, tokenLow: 1 } });
    const two = makeRequest(a, 'two', { enclosing: one.request });
    one.request.extras.enclosing = two.request; // corruption
    makeRequest(c, 'inner');
    makeRequest(a, 'inner', { enclosing: two.request });
    expect((await walk(makeRequest(b, 'one'), ALL)).held).toEqual(['inner', 'one', 'two']);
  });

  test('passes over requests that have ended', async () => {
    const [a, b] = agents;
    const holder = makeRequest(a, 'n');
    const start = makeRequest(b, 'n');
    table.remove(start);
    expect(await walk(start, ALL)).toMatchObject({ held: [], pending: [] });
    expect((await walk(holder, ALL)).pending).toEqual([]);
  });

  test('shows each request as it was at the moment of the walk, if it has changed since', async () => {
    const [a, b] = agents;
    const holder = makeRequest(a, 'n');
    const start = makeRequest(b, 'n');
    for (let i = 0; i < 50_000; i += 1) makeRequest(a, 'n'); // far more than one piece
    const last = makeRequest(a, 'n');
    const found = table.waitsOf([start], ALL, b, () => a.entries);
    time += 1;
    table.remove(holder); // its successor was queued at that moment
    table.remove(last);
    const { held, pending, isOneMoment } = await runSliced(readLists(found));
    expect(held.map(({ token }) => token)).toEqual([holder.token]);
    expect(pending).toHaveLength(50_002);
    expect(pending.every(({ token, held: heldFor }) => token === null && heldFor === null)).toBe(
      true,
    );
    expect(pending.at(-1)).toMatchObject({ since: last.requestedAt, waited: 0 });
    expect(isOneMoment).toBe(true);
  });
});

const OPENERS = {
  local: () => {
    const table = new LocalLockTable();
    return { agents: [new LocalBackend(table), new LocalBackend(table)], cleanUp() {} };
  },
  broker: () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    return {
      agents: [new BrokerBackend({ directory }), new BrokerBackend({ directory })],
      cleanUp: () => removeLocks(new BrokerFiles('default', directory)),
    };
  },
};

describe.each(Object.keys(OPENERS))('waitsOf() of %s', (kind) => {
  let backend;
  let other;
  let cleanUp;
  beforeEach(() => {
    ({
      agents: [backend, other],
      cleanUp,
    } = OPENERS[kind]());
  });
  afterEach(() => {
    backend.close();
    other.close();
    cleanUp();
  });

  const makeRequest = (by, name, extras) => {
    const request = new RecordedRequest(name, { extras: extras && { ...NO_EXTRAS, ...extras } });
    const outcome = by.enqueue(request);
    return { request, isGranted: outcome === GRANTED ? undefined : request.until('granted') };
  };
  const hold = async (by, name, extras) => {
    const { request, isGranted } = makeRequest(by, name, extras);
    await isGranted;
    return request;
  };

  test('reads nothing of a name that is not reached, however many wait for it', async () => {
    await hold(other, 'elsewhere');
    for (let i = 0; i < 1000; i += 1) makeRequest(other, 'elsewhere');
    await hold(other, 'n');
    const { request } = makeRequest(backend, 'n');
    const { held, pending } = await backend.waitsOf([request.backendId], ALL);
    expect([namesOf(held), namesOf(pending)]).toEqual([['n'], ['n']]);
  });

  test('gives the details that inspect() gives, also of what is inside', async () => {
    const outer = await hold(other, 'n', { label: 'outer' });
    await hold(backend, 'inner');
    makeRequest(other, 'inner', { enclosing: outer });
    const { request } = makeRequest(backend, 'n', { limit: 3 });
    const strip = ({ held, pending }) =>
      [...held, ...pending]
        .map((detail) => ({ ...detail, waited: 0, held: 0 }))
        .sort((a, b) => a.since - b.since || a.requestId - b.requestId);
    const found = await backend.waitsOf([request.backendId], ALL);
    expect(strip(found)).toEqual(strip(await backend.inspect()));
    expect(found.held).toHaveLength(2);
  });

  test('passes over requests that have ended', async () => {
    await hold(other, 'n');
    const { request } = makeRequest(backend, 'n');
    const { backendId } = request;
    backend.cancel(request);
    expect(await backend.waitsOf([backendId, 99], ALL)).toMatchObject({ held: [], pending: [] });
  });

  test('rejects when the backend is closed', async () => {
    backend.close();
    const closed = expect.objectContaining({ name: 'InvalidStateError' });
    await expect(backend.waitsOf([1], ALL)).rejects.toEqual(closed);
  });
});
