'use strict';

// A worker may be given a separate environment, with other variables than its process.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');

const LIBRARY = path.join(__dirname, '../../lib/index.js');

/** The process holds a lock while its worker asks for the same one; prints the answer. */
const PROGRAM = `
  const { Worker, isMainThread, parentPort } = require('node:worker_threads');
  const { locks } = require(${JSON.stringify(LIBRARY)});
  if (isMainThread) {
    locks.request('a', async () => {
      const worker = new Worker(process.argv[1], { env: JSON.parse(process.argv[2]) });
      await new Promise((done) => worker.once('message', (got) => done(console.log(got))));
    });
  } else {
    locks
      .request('a', { ifAvailable: true }, (lock) => lock !== null)
      .then((got) => parentPort.postMessage(got));
  }`;

let directory;
beforeEach(() => (directory = mkdtempSync('/dev/shm/holdfast-worker-ä-')));
afterEach(() => removeLocks(new BrokerFiles('default', directory)));

const OTHER = { HOLDFAST_DIR: '/dev/shm/another', HOLDFAST_URL: 'local:' };

test.each([
  ['shm:', {}, []],
  ['shm:', OTHER, []],
  ['broker:', {}, []],
  ['broker:', {}, ['--no-addons']], // as on macOS and Windows, which have no native part
  ['broker:', OTHER, ['--no-addons']],
])(
  'over %s a worker with the environment %j has the locks of its process %j',
  (url, env, flags) => {
    const file = path.join(directory, 'program.js');
    writeFileSync(file, PROGRAM);
    const { stdout, stderr } = spawnSync(process.execPath, [...flags, file, JSON.stringify(env)], {
      encoding: 'utf8',
      env: { ...process.env, HOLDFAST_DIR: directory, HOLDFAST_URL: url },
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'false\n', stderr: '' });
  },
);
