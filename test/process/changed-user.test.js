'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { rmSync } = require('node:fs');
const { join } = require('node:path');

// Only root can become another user.
const PROGRAM = join(__dirname, 'changed-user-program.js');
const USER = 64_000 + (process.pid % 1000); // nobody else's
const isRoot = process.geteuid() === 0;
const NOT_ROOT = 'only root can become another user';
if (!isRoot) console.warn(`Skipped: tests of a process that changes its user: ${NOT_ROOT}`);
const testAsRoot = isRoot ? test : test.skip;

const BUCKET = `changed-user-${process.pid}`;

/** The default directories, which a real program of this user may use beside the test. */
afterEach(() => {
  rmSync(`/dev/shm/holdfast-${process.geteuid()}/${BUCKET}`, { recursive: true, force: true });
  rmSync(`/dev/shm/holdfast-${USER}`, { recursive: true, force: true });
});

testAsRoot(
  'a process that has changed its user has no second table, so no second holder',
  async () => {
    const env = { ...process.env };
    delete env.HOLDFAST_DIR;
    const child = fork(PROGRAM, [JSON.stringify({ user: USER, bucket: BUCKET })], { env });
    const [answers] = await once(child, 'message');
    const refusal = expect.stringMatching(/^SecurityError: this process has changed its user/);
    expect(answers).toEqual({ inMain: refusal, inWorker: refusal });
  },
);
