'use strict';

const { closeSync, openSync, readSync, writeSync } = require('node:fs');
const { join } = require('node:path');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// Corruption makes the lock of every shard name a living process that is not inside any. Without
// the sweep. The words are described in src/segment/layout.h and src/segment/owner.h.
const SHARDS_AT = 4096;
const SHARD_BYTES = 256;
const SHARDS = 64;
const PROCESS_BYTES = 64;
const PROCESS_ID_AT = 8;
const WAITERS = 0x8000_0000;
const NAMES = Array.from({ length: 8 }, (_, number) => `name ${number}`);

let bucket;
let segment;
let accused;
beforeEach(async () => {
  bucket = new ProcessBucket();
  accused = await bucket.open('process');
  await (await accused.hold('before')).release();
  segment = openSync(join(bucket.directory, 'process', 'segment'), 'r+');
});
afterEach(async () => {
  closeSync(segment);
  await bucket.close();
});

function read(at, length) {
  const bytes = Buffer.alloc(length);
  readSync(segment, bytes, 0, length, at);
  return bytes;
}

function nameOf(pid) {
  for (let slot = 0; ; slot += 1) {
    const entry = read(SHARDS_AT + SHARDS * SHARD_BYTES + slot * PROCESS_BYTES, PROCESS_BYTES);
    if (entry.readUInt32LE(PROCESS_ID_AT) !== pid) continue;
    return ((entry.readUInt32LE(0) & 0xfffff) << 11) | (slot + 1);
  }
}

function accuse(pid, flags = 0) {
  const word = Buffer.alloc(4);
  word.writeUInt32LE((nameOf(pid) | flags) >>> 0);
  for (let shard = 0; shard < SHARDS; shard += 1) {
    writeSync(segment, word, 0, word.length, SHARDS_AT + shard * SHARD_BYTES);
  }
}

const requestAllNames = () =>
  Promise.all(NAMES.map((name) => bucket.locks.request(name, () => name)));

test.each([
  ['another process that rests', () => accused.pid, 0],
  ['another process that rests, with the bit of a sleeping waiter', () => accused.pid, WAITERS],
  ['the own process', () => process.pid, 0],
])('a shard is freed by the process that its lock word names: %s', async (_, getPid, flags) => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  await bucket.locks.request('a first one', () => {});
  do {
    warn.mockClear();
    accuse(getPid(), flags);
    expect(await requestAllNames()).toEqual(NAMES);
  } while (warn.mock.calls.length > 0); // a process has stood still for a second
  warn.mockRestore();
  await bucket.isClean({ processes: 1 });
});

test('keeps its shard as long as the process that it names is stopped: it might be inside', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  await bucket.locks.request('a first one', () => {});
  await accused.freeze();
  accuse(accused.pid);
  let settled = 0;
  const requested = NAMES.map((name) => bucket.locks.request(name, () => (settled += 1)));
  await untilEqual(() => warn.mock.calls.length > 0, true);
  expect(settled).toBe(0);
  expect(warn.mock.calls[0][0]).toContain(`process ${accused.pid} is stopped`);
  accused.thaw();
  await Promise.all(requested);
  warn.mockRestore();
  await bucket.isClean({ processes: 1 });
});

test('is freed by its death', async () => {
  await bucket.locks.request('a first one', () => {});
  accuse(accused.pid);
  const requested = requestAllNames();
  accused.endBy('SIGKILL');
  expect(await requested).toEqual(NAMES);
});
