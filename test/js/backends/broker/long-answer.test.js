'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../../../lib/index.js');
const { removeLocks } = require('../../../support/broker-process.js');

const REQUESTS = 18_000;
const LABEL = 'x'.repeat(1000);

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

test('what is told of very many requests arrives, and nobody loses anything by it', async () => {
  const held = await locks.acquire('a');
  const stop = new AbortController();
  const waiting = Array.from({ length: REQUESTS }, () =>
    locks.request('a', { label: LABEL, signal: stop.signal }, () => {}),
  );
  const ends = Promise.allSettled(waiting);
  const { pending } = await locks.inspect();
  expect(pending).toHaveLength(REQUESTS);
  expect(pending.reduce((length, { label }) => length + label.length, 0)).toBeGreaterThan(2 ** 24);
  expect(held.signal.aborted).toBe(false);
  stop.abort();
  await ends;
  held.release();
});
