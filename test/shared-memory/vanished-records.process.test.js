'use strict';

const fs = require('node:fs');
const { join } = require('node:path');
const { LockLostError } = require('../../lib/index.js');
const { ProcessBucket } = require('../support/process-bucket.js');

const CELL_BYTES = 128;
const WAITING = 0x57a17001;
const HELD = 0x4e1d7002;

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket({ sweeps: true });
});
afterEach(() => bucket.close());

/**
 * As a stray write does: no agent is notified. Cells begin at multiples of their size.
 * @param {number} state  of the records
 */
function wipe(state) {
  const file = fs.openSync(join(bucket.directory, 'process', 'segment'), 'r+');
  const bytes = fs.readFileSync(file);
  let count = 0;
  for (let at = 0; at < bytes.length; at += CELL_BYTES) {
    if (bytes.readUInt32LE(at) !== state) continue;
    fs.writeSync(file, Buffer.alloc(CELL_BYTES), 0, CELL_BYTES, at);
    count += 1;
  }
  fs.closeSync(file);
  expect(count).toBe(1);
}

test('a request whose record was wiped out fails, and its name stays usable', async () => {
  const release = await bucket.hold('a');
  const vanished = bucket.locks.request('a', () => {});
  wipe(WAITING);
  await expect(vanished).rejects.toMatchObject({ name: 'InvalidStateError' });
  await release();
  await bucket.locks.request('a', () => {});
});

// Another process may have had the lock since: a section whose record is gone has not been alone.
test('a section whose record was wiped out does not end as a released one', async () => {
  const held = bucket.locks.request('a', () => wipe(HELD));
  await expect(held).rejects.toBeInstanceOf(LockLostError);
  await expect(held).rejects.toMatchObject({
    name: 'LockLostError',
    reason: 'disconnected',
    message: expect.stringMatching(/corrupted/),
  });
  await expect(bucket.locks.request('a', () => 'again')).resolves.toBe('again');
});

test('a holder whose record was wiped out learns of it while it holds', async () => {
  const handle = await bucket.locks.acquire('a');
  wipe(HELD);
  if (!handle.signal.aborted) await new Promise((resolve) => (handle.signal.onabort = resolve));
  expect(handle.signal.reason).toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
});
