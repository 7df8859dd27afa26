'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { untilEqual } = require('../support/process-bucket.js');

// A process is killed or stopped at each step of a request that it grants and releases without the
// native part, and another one wants the lock..

const PROGRAM = join(__dirname, 'biased-locks-program.js');

/** Each step, and whether the lock is held then. */
const STEPS = [
  ['before the token', false],
  ['after the token', false],
  ['before the take', false],
  ['after the take', true],
  ['in the callback', true],
  ['before the give-back', true],
  ['after the give-back', false],
];

let directory;
let locks;
let child;
let report;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  locks = openLockManager({ directory });
});
afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  locks.close();
  rmSync(directory, { recursive: true, force: true });
});

function start(step, signal) {
  child = fork(PROGRAM, [JSON.stringify({ directory, step, signal })]);
  report = once(child, 'message');
  return child;
}

/** The state from the kernel: 'T' is stopped. */
const stateOf = (pid) => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))[1];

const isFree = () => locks.request('a', { ifAvailable: true }, (lock) => lock !== null);

test.each(STEPS)('a process that is killed %s leaves the lock to others', async (step, isHeld) => {
  start(step, 'SIGKILL');
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
  if (!isHeld) expect(await isFree()).toBe(true);
  expect(await locks.request('a', () => 'granted')).toBe('granted');
  expect(await locks.query()).toEqual({ held: [], pending: [] });
});

test.each(STEPS)('a process that is stopped %s delays no others', async (step, isHeld) => {
  const { pid } = start(step, 'SIGSTOP');
  await untilEqual(() => stateOf(pid), 'T');
  expect(await isFree()).toBe(!isHeld);
  expect(locks.isLocked('a')).toBe(isHeld);
  if (isHeld) {
    const granted = locks.request('a', () => 'granted');
    expect((await locks.query()).pending).toHaveLength(1);
    process.kill(pid, 'SIGCONT');
    expect(await granted).toBe('granted');
  } else {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    const mine = locks.request('a', () => held);
    process.kill(pid, 'SIGCONT');
    if (step !== 'after the give-back') {
      // Another process now has the lock that it was about to take, so it waits.
      await untilEqual(async () => (await locks.query()).pending.length, 1);
    }
    release();
    await mine;
  }
  expect(await report).toMatchObject([{ hits: 1 }, undefined]);
});
