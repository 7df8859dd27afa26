'use strict';

jest.mock('../../lib/time.js', () => {
  const { createManualTimers } = require('../support/manual-timers.js');
  const { timers, ...manual } = createManualTimers();
  const { setTimeout, clearTimeout } = timers;
  return { ...jest.requireActual('../../lib/time.js'), setTimeout, clearTimeout, manual };
});

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { manual } = require('../../lib/time.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks, signalBroker, suspendBroker } = require('../support/broker-process.js');

// The message of a timeout names those who hold the lock, though only the broker knows them.

const testWithStops = platformOf().hasStopSignals ? test : test.skip;

let directory;
let files;
let first;
let second;
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  first = openLockManager({ backend: new BrokerBackend({ directory }) });
  second = openLockManager({ backend: new BrokerBackend({ directory }) });
  await first.query();
  await second.query();
});
afterEach(() => {
  jest.restoreAllMocks();
  first.close();
  second.close();
  removeLocks(files);
});

const notCalled = () => {
  throw new Error('the lock was granted');
};
const NAMED =
  `^The lock 'busy' was not granted within 20 ms; it is held by process ${process.pid}, ` +
  "thread 0, label 'mine', for \\d+ ms";

/**
 * The message of a wait that timed out. The broker is asked for names for half a second at most: on
 * a machine that is busy for longer, it takes another wait.
 * @param {() => Promise<unknown>} wait
 */
async function messageWithNames(wait) {
  for (;;) {
    const { message } = await wait().catch((error) => error);
    if (message.includes('held by')) return message;
  }
}

test('a wait that timed out names the holder', async () => {
  const held = await first.acquire('busy', { label: 'mine' });
  const wait = () => second.request('busy', { timeout: 20 }, notCalled);
  expect(await messageWithNames(wait)).toMatch(new RegExp(`${NAMED}$`));
  held.release();
});

test('so does the wait of a blocked thread', async () => {
  const held = await first.acquire('busy', { label: 'mine' });
  const wait = async () => second.requestSync('busy', { timeout: 20 }, notCalled);
  expect(await messageWithNames(wait)).toMatch(new RegExp(`${NAMED}$`));
  held.release();
});

test('three of many holders are named', async () => {
  const shared = { label: 'mine', mode: 'shared' };
  const held = await Promise.all(Array.from({ length: 5 }, () => first.acquire('busy', shared)));
  const wait = () => second.request('busy', { timeout: 20 }, notCalled);
  expect(await messageWithNames(wait)).toMatch(
    new RegExp(`${NAMED}(; process [^;]*){2}; and others$`),
  );
  for (const handle of held) handle.release();
});

testWithStops('an abort while the names are asked for is what rejects', async () => {
  const held = await first.acquire('busy');
  const stop = new AbortController();
  const timeout = manual.delayOf(1); // passes when the broker is stopped
  const waiting = second.request('busy', { timeout, signal: stop.signal }, notCalled);
  await second.query(); // it knows that the request waits
  const naming = jest.spyOn(BrokerBackend.prototype, 'holdersOf');
  suspendBroker(files);
  manual.fire(1);
  expect(naming).toHaveBeenCalledTimes(1);
  stop.abort('mine'); // a busy machine may be late with a timer
  await expect(waiting).rejects.toBe('mine');
  signalBroker(files, 'SIGCONT');
  held.release();
});

testWithStops('a stopped broker keeps no timeout from rejecting, and is its reason', async () => {
  const held = await first.acquire('busy');
  const waiting = second.request('busy', { timeout: manual.delayOf(1) }, notCalled);
  while ((await first.query()).pending.length === 0);
  suspendBroker(files);
  manual.fire(1);
  await expect(waiting).rejects.toThrow(
    /^The lock 'busy' was not granted within \d+ ms: the broker has not answered: is it stopped\?$/,
  );
  signalBroker(files, 'SIGCONT');
  held.release();
});

test('a blocked thread gets the holders with labels of any length', async () => {
  const shared = { label: `${'x'.repeat(100_000)} mine`, mode: 'shared' };
  const held = await Promise.all([1, 2, 3].map(() => first.acquire('busy', shared)));
  const wait = async () => second.requestSync('busy', { timeout: 20 }, notCalled);
  expect(await messageWithNames(wait)).toMatch(/^The lock 'busy'.*held by (process.*x mine.*){3}$/);
  for (const handle of held) handle.release();
});
