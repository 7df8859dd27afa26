'use strict';

jest.mock('../../lib/backends/default-backend.js', () => ({
  openDefaultBackend: () => mockOpen(),
}));

const { setImmediate } = require('node:timers/promises');
const { MachineLink } = require('../../lib/backends/etcd/machine-link.js');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { GRANTED, QUEUED } = require('../../lib/backends/outcome.js');

let mockOpen;
let revoked;
beforeEach(() => {
  revoked = [];
});

/** Answers late, like a broker: a request that holds the lock at once is notified afterwards. */
class LateBackend extends LocalBackend {
  enqueue(request) {
    const isGranted = super.enqueue(request) === GRANTED;
    const id = request.backendId;
    queueMicrotask(() => {
      if (isGranted && request.backendId === id) request.granted();
    });
    return QUEUED;
  }
}

/** Waits until all messages of such a table have arrived. */
async function settle() {
  for (let turn = 0; turn < 10; turn += 1) await setImmediate();
}

async function join(lease) {
  const link = new MachineLink('cluster', lease, (dead) => revoked.push([lease, dead]));
  link.open();
  await settle();
  return link;
}

test('over a table that answers late, each death is noticed by the session before', async () => {
  const table = new LocalLockTable();
  mockOpen = () => new LateBackend(table);
  const links = {};
  for (const lease of ['1', '3', '2']) links[lease] = await join(lease);
  links[2].close();
  await settle();
  expect(revoked).toEqual([['1', '2']]);
  links[3].close();
  await settle();
  expect(revoked.slice(1)).toEqual([['1', '3']]);
  links[1].close();
});

test('sessions that end at once are all noticed, also those that only one of them waited for', async () => {
  const table = new LocalLockTable();
  const pids = { 1: 100, 2: 200, 3: 200, 4: 300 };
  mockOpen = () =>
    new (class extends LateBackend {
      async inspect() {
        const { held, pending } = await super.inspect();
        return { held: held.map((it) => ({ ...it, pid: pids[it.name.split(' ')[2]] })), pending };
      }
    })(table);
  const links = {};
  for (const lease of ['1', '2', '3', '4']) links[lease] = await join(lease);
  for (const lease of ['4', '3', '2']) links[lease].close();
  await settle();
  expect(revoked.sort()).toEqual([
    ['1', '2'],
    ['1', '3'],
    ['1', '4'],
  ]);
  links[1].close();
});

test('if the table is replaced, no process takes the living for dead', async () => {
  let table = new LocalLockTable();
  const replacements = [];
  mockOpen = () => {
    let inner = new LateBackend(table);
    replacements.push(() => {
      inner.close(); // notifies all of the loss
      inner = new LateBackend(table);
    });
    return new Proxy(
      {},
      {
        get:
          (_, key) =>
          (...args) =>
            inner[key](...args),
      },
    );
  };
  const links = [];
  for (const lease of ['1', '2', '3', '4']) links.push(await join(lease));
  table = new LocalLockTable();
  for (const replace of replacements) replace();
  await settle();
  expect(revoked).toEqual([]);
  for (const link of links) link.close();
});

test('over a table that answers late, the lock of a notification is released', async () => {
  const table = new LocalLockTable();
  mockOpen = () => new LateBackend(table);
  const links = [await join('1'), await join('2')];
  const { held, pending } = table.snapshot();
  const pokes = held.filter(({ name }) => name.startsWith('poke'));
  expect(new Set(pokes.map(({ clientId }) => clientId)).size).toBe(2);
  expect(pending.filter(({ name }) => name.startsWith('poke'))).toEqual([]);
  for (const link of links) link.close();
});

test('a table that refuses a request ends no session: the cluster notices deaths', async () => {
  const table = new LocalLockTable();
  let isFull = false;
  mockOpen = () =>
    new (class extends LateBackend {
      enqueue(request) {
        if (isFull) throw new DOMException('full', 'QuotaExceededError');
        return super.enqueue(request);
      }
    })(table);
  const first = await join('1');
  const second = await join('2');
  isFull = true;
  second.close(); // the first one looks who is next
  await settle();
  expect(revoked).toEqual([['1', '2']]);
  const stealer = new LocalBackend(table);
  const steal = { name: 'poke cluster 1', mode: 'exclusive', steal: true };
  expect(stealer.enqueue(steal)).toBe(GRANTED); // the first one cannot listen again
  await settle();
  stealer.release(steal);
  first.close();
});
