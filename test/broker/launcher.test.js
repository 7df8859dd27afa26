'use strict';

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

const mockSpawn = jest.fn(spawn);
jest.mock('node:child_process', () => ({
  ...jest.requireActual('node:child_process'),
  spawn: (...args) => mockSpawn(...args),
}));
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

let directory;
let mark;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const files = new BrokerFiles('default', directory);
  files.ensure();
  mark = path.join(files.folder, 'starting.1');
});
/** @type {NodeJS.Timeout | undefined} */
let touching;
afterEach(() => {
  clearInterval(touching);
  removeLocks(new BrokerFiles('default', directory));
});

/** The time of the process that has begun to start the broker never passes. */
function makeMarkLast() {
  touching = setInterval(() => {
    const now = new Date();
    if (fs.existsSync(mark)) fs.utimesSync(mark, now, now);
  }, 100);
}

async function useLock() {
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  try {
    return await locks.request('a', () => 'granted');
  } finally {
    locks.close();
  }
}

/** The next broker stops before it runs: it is starting until it is killed. */
function stopNextStart() {
  const words = ['-c', 'kill -STOP $$; exec "$0" "$@"'];
  mockSpawn.mockImplementationOnce((file, args, options) =>
    spawn('/bin/sh', [...words, file, ...args], options),
  );
}

test('a broker that is killed while it starts is followed by another one', async () => {
  stopNextStart();
  const use = useLock();
  process.kill(Number(fs.readFileSync(mark, 'utf8')), 'SIGKILL');
  makeMarkLast();
  expect(await use).toBe('granted');
});

const ownPid = Object.getOwnPropertyDescriptor(process, 'pid');
/** Deno does not let `process.pid` be changed. */
const testWithOtherPid = ownPid.configurable ? test : test.skip;

testWithOtherPid(
  'the mark names the broker also where its starter has a longer number',
  async () => {
    stopNextStart();
    Object.defineProperty(process, 'pid', { ...ownPid, value: 2 ** 31 });
    const use = useLock();
    Object.defineProperty(process, 'pid', ownPid);
    process.kill(Number(fs.readFileSync(mark, 'utf8')), 'SIGKILL');
    makeMarkLast();
    expect(await use).toBe('granted');
  },
);

test('so is one whose starter is killed, before it has started it', async () => {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  fs.writeFileSync(mark, String(pid));
  makeMarkLast();
  expect(await useLock()).toBe('granted');
});

test('a mark from before the clock was set back keeps no client from starting a broker', async () => {
  fs.writeFileSync(mark, String(process.pid));
  const inAnHour = new Date(Date.now() + 3_600_000);
  fs.utimesSync(mark, inAnHour, inAnHour);
  expect(await useLock()).toBe('granted');
});

/** @param {string} code  of the error that spawn() throws; others are events */
const toThrow = (code) => () => {
  throw Object.assign(new Error(`spawn ${code}`), { code });
};

describe('a start that the system refuses', () => {
  const REFUSALS = 20;

  test('for want of memory is tried again', async () => {
    mockSpawn.mockImplementationOnce(toThrow('ENOMEM'));
    expect(await useLock()).toBe('granted');
  });

  test('for good is an error with the reason, and leaves no descriptor and no mark', async () => {
    const descriptors = () => fs.readdirSync('/proc/self/fd').length;
    mockSpawn.mockImplementation(toThrow('E2BIG'));
    const message = 'A broker cannot be started: spawn E2BIG';
    const failure = { name: 'InvalidStateError', message };
    await expect(useLock()).rejects.toMatchObject(failure);
    const before = descriptors();
    for (let i = 0; i < REFUSALS; ++i) await expect(useLock()).rejects.toMatchObject(failure);
    mockSpawn.mockImplementation(spawn);
    // The process has descriptors of others, who may open or close a few of them meanwhile.
    expect(descriptors() - before).toBeLessThan(REFUSALS);
    expect(fs.existsSync(mark)).toBe(false);
  });
});
