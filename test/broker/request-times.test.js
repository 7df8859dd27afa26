'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { machineNow, wallLead } = require('../../lib/backends/broker/machine-clock.js');
const { BrokerTable } = require('../../lib/backends/broker/server/broker-table.js');
const { readLists } = require('../../lib/backends/local/lock-table.js');
const { openLockManager } = require('../../lib/index.js');
const { runAtOnce } = require('../../lib/sliced.js');
const { removeLocks } = require('../support/broker-process.js');
const { RawClient } = require('../support/raw-client.js');

// If a client, or the broker before, has another clock, its times are known to some milliseconds
// only. Its requests still were made in the past.

const AHEAD_MS = 600_000;

const timesOf = ({ held, pending }) => [
  ...held.flatMap((lock) => [lock.held, lock.waited, Date.now() - lock.since]),
  ...pending.flatMap((lock) => [lock.waited, Date.now() - lock.since]),
];

/** @param {number[]} times */
function expectPast(times) {
  expect(times).toHaveLength(5); // of a holder and a waiter
  // The wall clock has whole milliseconds here, and fractions there.
  for (const ms of times) expect(ms).toBeGreaterThan(-2);
}

describe('a client that is ahead of its broker', () => {
  let directory;
  let locks;
  let client;
  beforeEach(async () => {
    directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    locks = openLockManager({ backend: new BrokerBackend({ directory }) });
    await locks.query();
    const files = new BrokerFiles('default', directory);
    client = await RawClient.open(files.readEpoch(files.highestEpoch()));
  });
  afterEach(() => {
    client.close();
    locks.close();
    removeLocks(new BrokerFiles('default', directory));
  });

  test('has asked in the past', async () => {
    client.handshake('ahead');
    for (const id of [1, 2]) client.say('q', id, 'a', 0, machineNow() + AHEAD_MS, null);
    await client.call('snapshot');
    expectPast(timesOf(await locks.inspect()));
  });

  test('is not behind those who ask later', async () => {
    client.handshake('ahead');
    for (const id of [1, 2]) client.say('q', id, 'a', 0, machineNow() + AHEAD_MS, null);
    await client.call('snapshot');
    const later = locks.request('a', () => 'later');
    later.catch(() => {});
    const { pending } = await locks.query();
    expect(pending.map(({ clientId }) => clientId === 'ahead')).toEqual([true, false]);
  });

  test('has asked in the past where it comes back with what it asked for', async () => {
    const t = machineNow() + AHEAD_MS;
    const requests = [1, 2].map((id) => [0, [id, 'a', 0, t, null], 0, 0, t]);
    client.handshake('ahead', requests);
    await client.call('snapshot');
    expectPast(timesOf(await locks.inspect()));
  });
});

test('times that a broker has left whose clock was ahead are of the past', () => {
  const later = new BrokerTable(() => ({ add() {}, hasRoomFor: () => true }), 2);
  const t = machineNow();
  const details = {
    clientId: 'c',
    pid: 1,
    pidNamespace: '',
    threadId: 0,
    thread: '',
    lifeline: '',
  };
  const records = [
    ['J', 1, 1, 0, 0, 'another clock', wallLead() + AHEAD_MS],
    ['S', 's', details],
    ['Q', 's', 1, 'a', 0, t, null],
    ['G', 's', 1, 1, 1, t],
    ['Q', 's', 2, 'a', 0, t, null],
  ];
  runAtOnce(later.restore(records));
  const [session] = later.sessions.values();
  expectPast(timesOf(runAtOnce(readLists(later.inspect(session)))));
});
