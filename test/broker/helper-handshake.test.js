'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { machineNow } = require('../../lib/backends/broker/machine-clock.js');
const { STEAL } = require('../../lib/backends/broker/wire.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks, signalBroker, suspendBroker } = require('../support/broker-process.js');
const { RawClient } = require('../support/raw-client.js');

// The helper thread of a client reports the client's state to the broker, over a separate
// connection. If the helper is slow the client has changed meanwhile: the report is old, and must
// have no effect.

let directory;
let files;
let locks;
let main;
let helper;
/** The session of both, another one in each test. */
let client;
let tests = 0;
beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  await locks.query();
});
afterAll(() => {
  locks.close();
  removeLocks(files);
});
beforeEach(async () => {
  const epoch = files.readEpoch(files.highestEpoch());
  [main, helper] = await Promise.all([RawClient.open(epoch), RawClient.open(epoch)]);
  tests += 1;
  client = `client ${tests}`;
  main.handshake(client);
});
afterEach(() => {
  main.close();
  helper.close();
});

const WAITING = 0;
const RELEASING = 2;
/** The state of a request that was made, and released, at such times, as it crosses. */
const stateOf = (view, id, name, { t = 1, releasedAt = t } = {}) => [
  view,
  [id, name, 0, t, null],
  0,
  0,
  releasedAt,
];

test('a session that has ended in order has not died, whichever connection ends last', async () => {
  helper.handshake(client, [], { isHelper: true });
  main.request(1, 'ended');
  await main.next('g');
  const watch = locks.watch('ended')[Symbol.asyncIterator]();
  const ended = watch.next();
  await locks.query(); // the broker knows of the watch
  suspendBroker(files);
  main.say('bye', machineNow());
  main.close();
  helper.close();
  await new Promise((resolve) => setImmediate(resolve)); // the kernel has it all
  signalBroker(files, 'SIGCONT');
  expect((await ended).value).toMatchObject({ type: 'released', name: 'ended' });
  await watch.return();
});

test('a lock that was granted after what it says is kept', async () => {
  main.request(1, 'a');
  main.say('c', 1, 0, 0);
  main.request(2, 'b');
  await main.next('g');
  helper.handshake(client, [], { isHelper: true, upTo: 1 });
  await helper.call('snapshot');
  expect(await locks.request('b', { ifAvailable: true }, (lock) => lock)).toBe(null);
});

test('a request that was taken back after what it says is not made again', async () => {
  main.request(1, 'c');
  main.say('c', 1, 0, 0);
  await main.call('snapshot');
  helper.handshake(client, [stateOf(WAITING, 1, 'c')], { isHelper: true, upTo: 1 });
  expect((await helper.call('snapshot')).held).toEqual([]);
});

test('a request that the client no longer reported when it came back, neither', async () => {
  main.handshake(client, [], { upTo: 1 });
  await main.call('snapshot');
  helper.handshake(client, [stateOf(WAITING, 1, 'd')], { isHelper: true, upTo: 1 });
  expect((await helper.call('snapshot')).held).toEqual([]);
});

test('a request that has not left the socket of its client is made', async () => {
  helper.handshake(client, [stateOf(WAITING, 1, 'e')], { isHelper: true, upTo: 1 });
  expect((await helper.call('snapshot')).held).toMatchObject([{ name: 'e' }]);
  main.request(1, 'e'); // comes late
  main.request(2, 'f');
  const { held, pending } = await main.call('snapshot');
  expect([held.map(({ name }) => name), pending]).toEqual([['e', 'f'], []]);
});

test('a watch that the client has ended after what it says is not opened again', async () => {
  await main.call('watch', 1, null);
  await main.call('closeWatch', 1);
  helper.say('?', 0, 'watch', 0, [1, null]);
  helper.handshake(client, [], { isHelper: true });
  await helper.next('a');
  main.request(1, 'h');
  await main.next('g');
  expect(await main.call('readWatch', 1, 10)).toEqual([]);
});

test('a lock is released at the time of its release, not of its request', async () => {
  main.request(1, 'g');
  await main.next('g');
  const now = machineNow();
  const steal = [WAITING, [2, 'g', STEAL, now, null], 0, 0, now];
  const released = stateOf(RELEASING, 1, 'g', { releasedAt: now + 0.001 });
  helper.handshake(client, [released, steal], { isHelper: true, upTo: 2 });
  expect((await helper.next('d'))[2]).toBe('stolen');
});
