'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');
const { RawClient } = require('../support/raw-client.js');

// The broker notifies a holder of the highest priority that waits only when the holder's client
// knows another one: each message wakes a process.

const ID = 1;

let directory;
let locks;
let client;
beforeAll(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
});
beforeEach(async () => {
  await locks.query();
  const files = new BrokerFiles('default', directory);
  client = await RawClient.open(files.readEpoch(files.highestEpoch()));
  client.handshake('holder');
  client.request(ID, 'a');
  await client.next('g');
});
afterEach(() => client.close());
afterAll(() => {
  locks.close();
  removeLocks(new BrokerFiles('default', directory));
});

/** A request of another client that waits; `leave()` aborts it. */
async function wait(priority) {
  const controller = new AbortController();
  const { signal } = controller;
  const ended = locks.request('a', { priority, signal }, () => {}).catch(() => {});
  await locks.query(); // the broker has read that
  const leave = () => {
    controller.abort();
    return ended;
  };
  return { leave };
}

test('while none waits, a client that knows so is not notified', async () => {
  client.say('k', ID, null);
  client.say('k', ID, null);
  const { leave } = await wait('background');
  expect(await client.next('k')).toEqual(['k', ID, 'background']); // the first of them
  await leave();
  expect(await client.next('k')).toEqual(['k', ID, null]);
});

test('a client that knows the priority is not notified of it again', async () => {
  const first = await wait('user-visible');
  client.say('k', ID, 'user-visible');
  const second = await wait('user-visible');
  const urgent = await wait('user-blocking');
  expect(await client.next('k')).toEqual(['k', ID, 'user-blocking']);
  for (const { leave } of [first, second, urgent]) await leave();
});

test('a client that knows another priority, as of an earlier broker, is notified', async () => {
  client.say('k', ID, 'user-blocking');
  expect(await client.next('k')).toEqual(['k', ID, null]);
  const { leave } = await wait('background');
  client.say('k', ID, 'user-blocking');
  expect(await client.next('k')).toEqual(['k', ID, 'background']);
  await leave();
});

test('a client that has released its lock is not notified any more', async () => {
  client.say('k', ID, null);
  await client.call('release', ID);
  client.request(2, 'a');
  await client.next('g');
  const { leave } = await wait('background');
  client.say('k', ID, null);
  client.say('k', 2, null);
  expect(await client.next('k')).toEqual(['k', 2, 'background']);
  await leave();
});

test.each([[[]], [['urgent']], [[1]], [[{}]]])(
  'a client that knows %j is notified: that is no priority',
  async (known) => {
    client.say('k', ID, ...known);
    expect(await client.next('k')).toEqual(['k', ID, null]);
  },
);
