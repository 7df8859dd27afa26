'use strict';

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');

// The events of the thread of a session come to the event loop of its owner, which may be blocked.

const PROGRAM = path.join(__dirname, 'dead-session-program.js');
const PRELOAD = path.join(__dirname, 'dead-session-preload.js');
const WATCHDOG_MS = 55_000;

/** @param {string} failing @param {'blocked' | 'free'} way  in which the program asks */
async function run(failing, way) {
  const env = { ...process.env, HOLDFAST_TEST_SESSION: failing };
  env.NODE_OPTIONS = `--require=${JSON.stringify(PRELOAD)}`;
  const options = { env, timeout: WATCHDOG_MS, killSignal: 'SIGKILL' };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, way], options);
  return JSON.parse(stdout);
}

const warning = {
  code: 'HOLDFAST_HELPER',
  message: expect.stringContaining('by the preloaded module'),
};
const failed = (pattern) => ({
  name: 'InvalidStateError',
  message: expect.stringMatching(pattern),
});

test('a blocked thread learns that the thread of its session does not start, and why', async () => {
  expect(await run('starts not', 'blocked')).toEqual({
    outcome: [{ name: 'Error', message: expect.stringMatching(/not started within 1000 ms/) }],
    warnings: [warning],
  });
});

test('requestSync() says that the thread of its session has ended, a warning why', async () => {
  const outcome = failed(/session with etcd has failed: its thread has ended/);
  const { outcome: all, warnings } = await run('throws', 'blocked');
  expect(all).toEqual([outcome, outcome]);
  expect(warnings).toContainEqual(warning); // one for each thread
});

test('request() says why the thread of its session has ended; the next call starts another', async () => {
  const outcome = failed(/session with etcd has failed: by the preloaded module/);
  const next = failed(/session with etcd has failed: its thread has ended/);
  expect(await run('throws', 'free')).toEqual({ outcome: [outcome, next], warnings: [warning] });
});

test('request() says that the thread of its session has ended without an error', async () => {
  const outcome = failed(/session with etcd has failed: its thread has ended/);
  expect(await run('exits', 'free')).toEqual({ outcome: [outcome, outcome], warnings: [] });
});
