'use strict';

const { readFileSync } = require('node:fs');
const { ProcessBucket } = require('../support/process-bucket.js');
const { isRunning } = require('../support/process-actor.js');
const { linksOf } = require('../support/process-counts.js');

// A child that lives on must not keep alive what its parent held: no descriptor of the bucket, and
// no lock on it, may pass to it.
let bucket;
let parent;
let waiter;
let children;
beforeEach(async () => {
  children = [];
  bucket = new ProcessBucket();
  [parent, waiter] = await Promise.all([bucket.open('process'), bucket.open('process')]);
});
afterEach(async () => {
  for (const pid of children) process.kill(-pid, 'SIGKILL'); // its group, which is its own
  await bucket.close();
});

const WAYS = [
  ['spawned without its streams', { stdio: 'ignore' }],
  ['spawned with its streams', { stdio: 'inherit' }],
  ['spawned with a channel, as by fork()', { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }],
  ['run by a shell', { stdio: 'ignore', shell: true }],
];

/** The files that a process has open or mapped. */
function filesOf(pid) {
  const open = linksOf(pid);
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return [...open, ...maps.map((line) => line.slice(line.indexOf('/')))];
}

describe.each(WAYS)('a child %s', (_title, options) => {
  async function startChild() {
    const pid = await parent.command('startChild', options);
    children.push(pid);
    return pid;
  }

  test('has no file of the bucket open', async () => {
    await parent.hold('a');
    const files = filesOf(await startChild());
    expect(files.filter((file) => file.startsWith(bucket.directory))).toEqual([]);
  });

  test('does not keep the lock of its killed parent', async () => {
    await parent.hold('a');
    const pid = await startChild();
    const waiting = await waiter.request('a');
    parent.endBy('SIGKILL');
    await waiting.granted;
    expect(isRunning(pid)).toBe(true);
    await waiting.release();
    await bucket.isClean({ processes: 1 });
  });

  test('does not keep the place of its killed parent in the queue', async () => {
    const release = await bucket.hold('a', { mode: 'shared' });
    await parent.request('a');
    const pid = await startChild();
    const waiting = await waiter.request('a', { mode: 'shared' });
    parent.endBy('SIGKILL');
    await waiting.granted;
    expect(isRunning(pid)).toBe(true);
    await waiting.release();
    await release();
    await bucket.isClean({ processes: 1 });
  });

  test('takes nothing away from a parent that lives', async () => {
    const held = await parent.hold('a');
    const pid = await startChild();
    process.kill(-pid, 'SIGKILL');
    children.pop();
    const waiting = await waiter.request('a');
    expect((await bucket.locks.query()).held).toMatchObject([
      { clientId: await parent.clientId() },
    ]);
    expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
    await waiting.granted;
    await waiting.release();
    await bucket.isClean({ processes: 2 });
  });
});

test.each([1, 2, 3, 4])(
  'a parent killed while it starts children has no lock left (%d)',
  async () => {
    await parent.hold('a');
    const waiting = await waiter.request('a');
    await parent.command('startChildren');
    parent.endBy('SIGKILL');
    await waiting.granted;
    await waiting.release();
    await bucket.isClean({ processes: 1 });
  },
);
