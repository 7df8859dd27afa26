'use strict';

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');

// The events of a helper thread come to the event loop of its owner, which is blocked just then.

const PROGRAM = path.join(__dirname, 'dead-helper-program.js');
const PRELOAD = path.join(__dirname, 'dead-helper-preload.js');
const WATCHDOG_MS = 30_000;

let directory;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(() => {
  removeLocks(new BrokerFiles('default', directory));
});

async function run(failing) {
  const env = { ...process.env, HOLDFAST_TEST_HELPER: failing };
  env.NODE_OPTIONS = `--require=${JSON.stringify(PRELOAD)}`;
  const options = { env, timeout: WATCHDOG_MS, killSignal: 'SIGKILL' };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, directory], options);
  return JSON.parse(stdout);
}

const warning = {
  code: 'HOLDFAST_HELPER',
  message: expect.stringContaining('by the preloaded module'),
};
const invalidState = (pattern) => ({
  name: 'InvalidStateError',
  message: expect.stringMatching(pattern),
});

test('a thread whose helper does not start learns it, and the program why', async () => {
  const notStarted = invalidState(/not started within 200 ms.*NODE_OPTIONS/);
  expect(await run('starts not')).toEqual({ outcome: [notStarted, notStarted], warning });
});

test('a helper that starts late is no silence of the broker: a free lock is granted', async () => {
  expect(await run('starts late')).toBe('ran');
});

test('a thread whose helper ends learns it, and has no lock; the next one gets it', async () => {
  expect(await run('wait')).toEqual({
    outcome: [invalidState(/has ended/), [[], []], 'ran'],
    warning,
  });
});

test('so it is when the helper ends at the release', async () => {
  expect(await run('release')).toEqual({
    outcome: [invalidState(/The callback has returned.*has ended/), [[], []], 'ran'],
    warning,
  });
});
