'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { answerCall } = require('../../lib/backends/broker/server/client-connection.js');
const { machineNow } = require('../../lib/backends/broker/machine-clock.js');
const { PATIENT } = require('../../lib/backends/broker/wire.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks } = require('../support/broker-process.js');
const { RawClient } = require('../support/raw-client.js');

const REQUESTS = 9_000;
const LABEL = 'x'.repeat(16_000);
/** No line of the protocol is longer. */
const MAX_LINE_BYTES = 2 ** 27;
const TOO_LONG = 'x'.repeat(2 ** 21 + 1);

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

describe('more requests than one line can name', () => {
  let held;
  let ends;
  const stop = new AbortController();
  beforeAll(async () => {
    held = await locks.acquire('a');
    const waiting = Array.from({ length: REQUESTS }, () =>
      locks.request('a', { label: LABEL, signal: stop.signal }, () => {}),
    );
    ends = Promise.allSettled(waiting);
  });
  afterAll(async () => {
    stop.abort();
    await ends;
    held.release();
  });

  test('are all in an inspection, and no client loses anything by it', async () => {
    const { pending } = await locks.inspect();
    expect(pending).toHaveLength(REQUESTS);
    const length = pending.reduce((sum, { label }) => sum + label.length, 0);
    expect(length).toBeGreaterThan(MAX_LINE_BYTES);
    expect(held.signal.aborted).toBe(false);
  });

  test('are all known to the next broker, and nothing is lost', async () => {
    killBroker(new BrokerFiles('default', directory));
    const { pending } = await locks.query();
    expect(pending).toHaveLength(REQUESTS);
    expect(held.signal.aborted).toBe(false);
  });
});

test('a broker that reads for long what a client has sent shows that it lives', async () => {
  await locks.query();
  const files = new BrokerFiles('default', directory);
  const client = await RawClient.open(files.readEpoch(files.highestEpoch()));
  client.handshake('of a test');
  let id = 0;
  const name = 'x'.repeat(2 ** 15);
  const request = () => client.say('q', ++id, name, PATIENT, machineNow(), null);
  const timer = setInterval(request, 1);
  expect(await client.next('.')).toEqual(['.']);
  clearInterval(timer);
  client.close();
});

test('a call that cannot be answered fails, and its connection gets nothing else', () => {
  const sent = [];
  const connection = { session: {}, send: (message) => sent.push(message) };
  const table = {
    inspect() {
      throw new RangeError('Invalid string length');
    },
  };
  answerCall(table, connection, { call: 7, what: 'inspect', argument: [] });
  expect(sent).toEqual([['x', 7, 'OperationError', 'RangeError: Invalid string length']]);
});

test.each([
  ['name', () => locks.request(TOO_LONG, () => {})],
  ['label', () => locks.request('b', { label: TOO_LONG }, () => {})],
])('a %s that is too long is refused, and the locks of the client stay', async (what, request) => {
  const held = await locks.acquire('c');
  await expect(request()).rejects.toMatchObject({
    name: 'QuotaExceededError',
    message: expect.stringMatching(`^The ${what} of the lock is too long: .* takes 2097152$`),
  });
  expect((await locks.query()).held).toContainEqual(expect.objectContaining({ name: 'c' }));
  expect(held.signal.aborted).toBe(false);
  held.release();
});

test('no lock has a name that is too long', () => {
  expect(locks.isLocked(TOO_LONG)).toBe(false);
});
