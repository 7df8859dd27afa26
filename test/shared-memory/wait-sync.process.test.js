'use strict';

const { spawn } = require('node:child_process');
const { GRANTED, QUEUED } = require('../../lib/backends/outcome.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { ProcessBucket } = require('../support/process-bucket.js');
const { RecordedRequest } = require('../support/recorded-request.js');

// A thread that blocks until its request is decided, while others do what they do.
let bucket;
let backend;
let holder;
beforeEach(async () => {
  bucket = new ProcessBucket();
  const { directory } = bucket;
  backend = new SharedMemoryBackend({ directory, bucket: 'process', sweeps: false });
  holder = await bucket.open('process');
});
afterEach(async () => {
  backend.close();
  await bucket.close();
});

function makeRequest(outcome, name) {
  const request = new RecordedRequest(name);
  expect(backend.enqueue(request)).toBe(outcome);
  return request;
}

test('is granted what a process leaves that is killed meanwhile', async () => {
  await holder.hold('a');
  const request = makeRequest(QUEUED, 'a');
  holder.endBy('SIGKILL');
  expect(backend.waitSync(request, Infinity)).toBe('granted');
  backend.release(request);
});

test('is granted what is taken from a process that is stopped', async () => {
  await holder.hold('a', { holdLimit: 100 });
  await holder.freeze();
  const request = new RecordedRequest('a');
  const outcome = backend.enqueue(request);
  if (outcome === QUEUED) expect(backend.waitSync(request, Infinity)).toBe('granted');
  holder.thaw();
  backend.release(request);
});

test('fails when the lock table is removed', async () => {
  const held = makeRequest(GRANTED, 'b');
  await holder.hold('a');
  const request = makeRequest(QUEUED, 'a');
  const remover = spawn('rm', ['-r', bucket.directory]);
  const removed = new Promise((resolve) => remover.on('exit', resolve));
  expect(() => backend.waitSync(request, Infinity)).toThrow(
    expect.objectContaining({ name: 'InvalidStateError', reason: 'DISCONNECTED' }),
  );
  await held.until('lost: disconnected');
  expect(request.notices).toEqual([]);
  await removed;
});
