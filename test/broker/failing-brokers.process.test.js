'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// Every broker that a client starts fails.

const PRELOAD = path.join(__dirname, 'failing-broker-preload.js');
const WATCHDOG_MS = 600_000;
const { execPath } = process;

let directory;
let locks;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
});
afterEach(() => {
  process.execPath = execPath;
  locks.close();
  removeLocks(new BrokerFiles('default', directory));
});

/** @param {string} line  of a shell, which starts a broker with its arguments */
function startBrokersBy(line) {
  process.execPath = path.join(directory, 'node');
  fs.writeFileSync(process.execPath, `#!/bin/sh\n${line}\n`, { mode: 0o700 });
}

test(
  'a client that each broker welcomes, and none serves, learns the reason',
  async () => {
    startBrokersBy(`exec '${execPath}' --require '${PRELOAD}' "$@"`);
    const calls = [locks.query(), locks.request('a', () => 'granted')];
    for (const { reason } of await Promise.allSettled(calls)) {
      expect(reason.name).toBe('InvalidStateError');
      expect(reason.message).toContain('it fails after each welcome');
    }
  },
  WATCHDOG_MS,
);
