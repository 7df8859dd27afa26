'use strict';

const fs = require('node:fs');
const { join } = require('node:path');
const { ProcessBucket } = require('../support/process-bucket.js');

const CELL_BYTES = 128;
const WAITING = 0x57a17001;

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket({ sweeps: true });
});
afterEach(() => bucket.close());

/** As a stray write does: nobody is told of it. Cells begin at multiples of their size. */
function wipeWaitingRequests() {
  const file = fs.openSync(join(bucket.directory, 'process', 'segment'), 'r+');
  const bytes = fs.readFileSync(file);
  for (let at = 0; at < bytes.length; at += CELL_BYTES) {
    if (bytes.readUInt32LE(at) !== WAITING) continue;
    fs.writeSync(file, Buffer.alloc(CELL_BYTES), 0, CELL_BYTES, at);
  }
  fs.closeSync(file);
}

test('a request whose record was wiped out fails, and its name goes on', async () => {
  const release = await bucket.hold('a');
  const vanished = bucket.locks.request('a', () => {});
  wipeWaitingRequests();
  await expect(vanished).rejects.toMatchObject({ name: 'InvalidStateError' });
  await release();
  await bucket.locks.request('a', () => {});
});
