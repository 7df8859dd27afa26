'use strict';

const fs = require('node:fs');
const { join } = require('node:path');
const { LockLostError } = require('../../lib/index.js');
const { ProcessBucket } = require('../support/process-bucket.js');

const NAME = 'zq7xk'; // stands in the table once
const PAGE = 4096;

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket({ sweeps: true });
});
afterEach(() => bucket.close());

/** Makes zeros of the page in which the name stands, and with it of the record. */
function zeroPageOfName() {
  const file = join(bucket.directory, 'process', 'segment');
  const at = fs.readFileSync(file).indexOf(Buffer.from(NAME, 'utf16le'));
  expect(at).toBeGreaterThan(0);
  const fd = fs.openSync(file, 'r+');
  fs.writeSync(fd, Buffer.alloc(PAGE), 0, PAGE, at - (at % PAGE));
  fs.closeSync(fd);
}

const LOST = { name: 'AbortError', reason: 'disconnected', message: /damaged/ };

// Somebody else may have had the lock since: a section whose record is gone has not been alone.
test('a section whose record has gone does not end as one that was released', async () => {
  const held = bucket.locks.request(NAME, zeroPageOfName);
  await expect(held).rejects.toBeInstanceOf(LockLostError);
  await expect(held).rejects.toMatchObject({
    ...LOST,
    message: expect.stringMatching(LOST.message),
  });
  await expect(bucket.locks.request(NAME, () => 'again')).resolves.toBe('again');
});

test('a holder learns of it while it holds', async () => {
  const handle = await bucket.locks.acquire(NAME);
  zeroPageOfName();
  if (!handle.signal.aborted) await new Promise((resolve) => (handle.signal.onabort = resolve));
  expect(handle.signal.reason).toMatchObject({ name: 'AbortError', reason: 'disconnected' });
});
