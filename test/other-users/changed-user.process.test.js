'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { rmSync } = require('node:fs');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { killBroker } = require('../support/broker-process.js');

// Only root can become another user.
const PROGRAM = join(__dirname, 'changed-user-program.js');
const USER = 64_000 + (process.pid % 1000); // not in use
const isRoot = process.geteuid() === 0;
const NOT_ROOT = 'only root can become another user';
if (!isRoot) console.warn(`Skipped: tests of a process that changes its user: ${NOT_ROOT}`);
const testAsRoot = isRoot ? test : test.skip;

const BUCKET = `changed-user-${process.pid}`;

/** The default directories, which a real program of this user may use beside the test. */
afterEach(() => {
  for (const user of [process.geteuid(), USER]) {
    const files = new BrokerFiles(BUCKET, `/dev/shm/holdfast-${user}`);
    killBroker(files);
    rmSync(files.folder, { recursive: true, force: true, maxRetries: 10 });
  }
  rmSync(`/dev/shm/holdfast-${process.geteuid()}/${BUCKET}`, { recursive: true, force: true });
  rmSync(`/dev/shm/holdfast-${USER}`, { recursive: true, force: true });
});

async function changeUser(url, isLocking) {
  const env = { ...process.env, HOLDFAST_URL: url };
  delete env.HOLDFAST_DIR;
  const options = JSON.stringify({ user: USER, bucket: BUCKET, isLocking });
  const child = fork(PROGRAM, [options], { env });
  const answers = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  return answers[0];
}

describe.each(['shm:', 'broker:'])('over %s', (url) => {
  const refusal = expect.stringMatching(/^SecurityError: this process has changed its user/);
  const refused = { inWorker: refusal, inMain: refusal };
  const granted = { inWorker: 'granted', inMain: 'granted' };

  testAsRoot(
    'a process that has changed its user has no second table beside the first',
    async () => {
      expect(await changeUser(url, true)).toEqual({ before: refused, after: granted });
    },
  );

  testAsRoot('a user id without an account has locks', async () => {
    expect(await changeUser(url, false)).toEqual({ before: granted, after: granted });
  });
});
