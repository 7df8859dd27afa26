'use strict';

const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { MEMBERS, as, describeMembers, makeShared } = require('../support/members.js');
const { untilEqual } = require('../support/process-bucket.js');

// A process is killed or stopped at each step of a request that it grants and releases without the
// native part, and another one wants the lock..

const PROGRAM = join(__dirname, 'biased-locks-program.js');
const LIBRARY = join(__dirname, '../../lib/index.js');

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

function start(step, signal, words = []) {
  const [execPath, ...execArgv] = [...words, process.execPath];
  child = fork(PROGRAM, [JSON.stringify({ directory, step, signal })], { execPath, execArgv });
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

describeMembers('between two users of a group', () => {
  const [HOLDER, REQUESTER] = MEMBERS;
  const REQUEST = `
    const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    const locks = openLockManager({ directory: process.argv[1] });
    locks.request('a', () => console.log('granted'));
    locks.query().then(({ pending }) => pending.length > 0 && console.log('waits'));`;
  let requester;
  beforeEach(() => {
    locks.close(); // no process of root notices a death
    makeShared(directory);
  });
  afterEach(() => requester.kill('SIGKILL'));

  /** Starts a request of the other user; resolves with its first line. */
  async function request() {
    const [command, ...words] = [...as(REQUESTER), process.execPath, '-e', REQUEST, directory];
    requester = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(requester.stdout, 'data');
    return `${line}`;
  }

  test.each(STEPS)(
    'a process that is killed %s leaves the lock to the other user',
    async (step) => {
      start(step, 'SIGKILL', as(HOLDER));
      const [, signal] = await once(child, 'exit');
      expect(signal).toBe('SIGKILL');
      let text = await request();
      while (text === 'waits\n') text += `${await once(requester.stdout, 'data')}`; // for the reaping
      expect(text).toMatch(/granted\n$/);
    },
  );

  test('a process that holds the biased lock is killed, and the other user, who waits, has it', async () => {
    const { pid } = start('in the callback', 'SIGSTOP', as(HOLDER));
    await untilEqual(() => stateOf(pid), 'T');
    expect(await request()).toBe('waits\n');
    child.kill('SIGKILL');
    const [line] = await once(requester.stdout, 'data');
    expect(`${line}`).toBe('granted\n');
  });

  test('a process that is stopped with the lock biased and free delays no other user', async () => {
    const { pid } = start('after the give-back', 'SIGSTOP', as(HOLDER));
    await untilEqual(() => stateOf(pid), 'T');
    expect(await request()).toBe('granted\n');
  });
});
