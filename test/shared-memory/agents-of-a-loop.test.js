'use strict';

const { execFileSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

// Two agents of one event loop, without the sweep that finds missed wake-ups. In a separate
// process: other events in a loop would wake it.

const LIB = join(__dirname, '..', '..', 'lib');
const WATCHDOG_MS = 120_000;

let directory;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The output of the program at its end. It has `open(bucket)` and `queueUp(locks)`. */
const run = (program) =>
  execFileSync(
    process.execPath,
    ['-e', `(${prepare})(${JSON.stringify(LIB)}, ${JSON.stringify(directory)}, ${program})`],
    { encoding: 'utf8', timeout: WATCHDOG_MS },
  );

function prepare(lib, directoryOfAll, program) {
  const { SharedMemoryBackend } = require(`${lib}/backends/shared-memory/backend.js`);
  const { openLockManager } = require(`${lib}/index.js`);
  const open = (bucket) => {
    const backend = new SharedMemoryBackend({ directory: directoryOfAll, bucket, sweeps: false });
    return openLockManager({ backend });
  };
  // Queued behind itself: the events of a grant comes in a turn of the event loop.
  const queueUp = async (locks) => {
    let release;
    const released = new Promise((resolve) => (release = resolve));
    const requests = [released, 1, 2, 3].map((value) => locks.request('a', () => value));
    release();
    await Promise.all(requests);
  };
  program(open, queueUp).then(() => process.stdout.write('done'));
}

test('an agent is notified of what it asked for, and was granted, in the turn of another one', () => {
  const said = run(async (open, queueUp) => {
    const [first, second] = [open('first'), open('second')];
    for (let round = 0; round < 10; round += 1) {
      await queueUp(first);
      await queueUp(second);
    }
  });
  expect(said).toBe('done');
});

test('an agent is notified of what it was granted in the turn in which it was opened', () => {
  const said = run(async (open, queueUp) => {
    for (let round = 0; round < 10; round += 1) await queueUp(open(`bucket-${round}`));
  });
  expect(said).toBe('done');
});
