'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { machineNow } = require('../../lib/backends/broker/machine-clock.js');
const { PATIENT } = require('../../lib/backends/broker/wire.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');
const { RawClient } = require('../support/raw-client.js');

// The broker reports that a request waits to clients only that will ask: those with a timeout.

let directory;
let locks;
beforeAll(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
});
afterAll(() => {
  locks.close();
  removeLocks(new BrokerFiles('default', directory));
});

async function connect() {
  const files = new BrokerFiles('default', directory);
  const client = await RawClient.open(files.readEpoch(files.highestEpoch()));
  client.handshake('patience');
  return client;
}

test('a client without a timeout is not notified that it waits, a client with one is', async () => {
  const held = await locks.acquire('a');
  const client = await connect();
  client.say('q', 1, 'a', PATIENT, machineNow(), null);
  client.request(2, 'a');
  expect(await client.next('w')).toEqual(['w', 2]); // the first of them
  await held.release();
  expect(await client.next('g')).toEqual(['g', 1, expect.any(Number), expect.any(Number)]);
  client.close();
});

test('a request with a timeout waits no longer than until it knows that it waits', async () => {
  const held = await locks.acquire('b');
  const waiting = locks.request('b', { timeout: 1 }, () => {});
  await expect(waiting).rejects.toThrow(expect.objectContaining({ name: 'TimeoutError' }));
  await held.release();
});

test('a request without a timeout is never asked whether it is decided', async () => {
  const requested = [];
  class Listening extends BrokerBackend {
    enqueue(request) {
      requested.push(request.isTimed);
      return super.enqueue(request);
    }
  }
  const other = openLockManager({ backend: new Listening({ directory }) });
  await other.request('c', () => {});
  await other.request('c', { timeout: 1_000_000 }, () => {});
  await (await other.acquire('c')).release();
  expect(requested).toEqual([false, true, false]);
  other.close();
});
