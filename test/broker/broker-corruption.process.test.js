'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks, suspendBroker } = require('../support/broker-process.js');

// A journal that the next broker cannot read: clients report what they hold, or all get the reason.

const PROGRAM = path.join(__dirname, 'broker-corruption-program.js');

let directory;
let files;
let locks;
let children;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  locks.close();
  removeLocks(files);
});

const journal = () => path.join(files.folder, `journal.${files.highestEpoch()}`);

/** A broker that cannot serve reports it for a second, to each client. */
async function requestUntilServed(options, callback) {
  for (;;) {
    try {
      return await locks.request('a', options, callback);
    } catch (error) {
      if (error.name !== 'InvalidStateError') throw error;
    }
  }
}
const isTaken = () => requestUntilServed({ ifAvailable: true }, (lock) => lock === null);

function start() {
  const child = fork(PROGRAM, [directory]);
  children.push(child);
  return child;
}

async function startHolder() {
  const child = start();
  const [{ token }] = await once(child, 'message');
  return { child, token: BigInt(token) };
}

/** Makes its journal unreadable, then kills the broker; returns the journal's path. */
function killAndCorrupt(corruption = breakLine) {
  const file = journal();
  suspendBroker(files); // no client misses it, and it writes no more
  fs.writeFileSync(file, corruption(fs.readFileSync(file, 'utf8')));
  killBroker(files);
  return file;
}

/** The first record of a client. */
const breakLine = (text) => text.replace('["S",', '["S"?');
const CORRUPTIONS = [
  ['a broken line', breakLine],
  ['a broken head', (text) => text.slice(5)],
  ['zeros in the middle', (text) => text.replace('["S",', '\0\0\0\0\0')],
  ['nothing but noise', () => 'noise\n'.repeat(100)],
  ['no content', () => ''],
];

describe.each(CORRUPTIONS)('a journal with %s', (_title, corruption) => {
  test('costs no living client its lock, and its waiter no grant', async () => {
    await locks.query(); // a client without a lock or a request, that has to come back as well
    const { child, token } = await startHolder();
    const idle = openLockManager({ backend: new BrokerBackend({ directory }) });
    await idle.query();
    const waiting = locks.request('a', (lock) => lock.token);
    await locks.query();
    killAndCorrupt(corruption);
    expect(await idle.request('a', { ifAvailable: true }, (lock) => lock)).toBe(null);
    child.send('release');
    expect(await once(child, 'message')).toEqual([{ value: 'released' }, undefined]);
    expect(await waiting).toBeGreaterThan(token);
    idle.close();
    const names = fs.readdirSync(files.folder).map((name) => name.replace(/\d+$/, 'N'));
    expect(names.sort()).toEqual(['claims', 'journal.N', 'lifelines', 'log']);
  });
});

test('a corrupted journal keeps no lock of a dead client', async () => {
  const { child } = await startHolder();
  killAndCorrupt();
  child.kill('SIGKILL');
  expect(await locks.request('a', () => 'granted')).toBe('granted');
});

test('while a stopped client may hold a lock, every client learns what to do, and gets none', async () => {
  const { child } = await startHolder();
  const waiting = locks.request('a', () => 'granted');
  await locks.query();
  child.kill('SIGSTOP');
  const file = killAndCorrupt();
  const error = await waiting.catch((reason) => reason);
  expect(error).toMatchObject({ name: 'InvalidStateError' });
  expect(error.message).toContain(file);
  expect(error.message).toContain('remove the journal');
  child.kill('SIGCONT');
  // It held the lock all the time, or was notified of the loss.
  const report = once(child, 'message');
  if (await isTaken()) child.send('release');
  const [{ value, error: loss }] = await report;
  expect([value, loss?.name]).toContainEqual(value === undefined ? 'LockLostError' : 'released');
  expect(await requestUntilServed({}, () => 'granted')).toBe('granted');
});

test('a journal of another version is reported at once, by few brokers, and left as it is', async () => {
  await locks.query();
  const file = killAndCorrupt((text) => text.replace(/^\["J",\d+,/, '["J",99,'));
  const before = files.highestEpoch();
  const attempts = await Promise.allSettled(
    Array.from({ length: 20 }, () => locks.request('a', () => 'granted')),
  );
  for (const { reason } of attempts) {
    expect(reason).toMatchObject({ name: 'InvalidStateError' });
    expect(reason.message).toContain(`remove its journal: ${file}`);
  }
  expect(files.highestEpoch() - before).toBeLessThan(attempts.length);
  fs.rmSync(file);
  expect(await requestUntilServed({}, () => 'granted')).toBe('granted');
});

test('a thread that is blocked in requestSync() is notified as well', async () => {
  await locks.query();
  const file = killAndCorrupt((text) => text.replace(/^\["J",\d+,/, '["J",99,'));
  expect(() => locks.requestSync('a', () => 'granted')).toThrow(
    expect.objectContaining({ message: expect.stringContaining(file) }),
  );
});
