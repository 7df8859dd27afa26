'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks, sendSignal } = require('../support/broker-process.js');

const RUN = process.versions.deno === undefined ? [] : ['run', '-A'];
const LIBRARY = path.join(__dirname, '..', '..', 'lib');

let directory;
let files;
/** The processes that this test has to end. */
let pids;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  pids = [];
});
afterEach(() => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  removeLocks(files);
});

/** Holds a lock, and starts a program that outlives it. Resolves when it has said so. */
async function startHolder() {
  const program = path.join(directory, 'holder.cjs');
  fs.writeFileSync(
    program,
    `const { spawn } = require('node:child_process');
    const { BrokerBackend } = require(${JSON.stringify(path.join(LIBRARY, 'backends/broker/backend.js'))});
    const { openLockManager } = require(${JSON.stringify(path.join(LIBRARY, 'index.js'))});
    const backend = new BrokerBackend({ directory: ${JSON.stringify(directory)} });
    openLockManager({ backend }).request('ledger', () => {
      const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
      console.log(child.pid);
      setInterval(() => {}, 1000);
      return new Promise(() => {});
    });`,
  );
  const holder = spawn(process.execPath, [...RUN, program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  pids.push(holder.pid);
  const pid = await new Promise((resolve) => holder.stdout.once('data', resolve));
  pids.push(Number(String(pid)));
  return holder;
}

// Windows cannot stop a process.
(process.platform === 'win32' ? test.skip : test)(
  'a program that a client has started does not keep the locks of the dead client',
  async () => {
    const holder = await startHolder();
    sendSignal(holder, 'SIGSTOP', files.platform); // or it would start the next broker
    killBroker(files);
    process.kill(holder.pid, 'SIGKILL');
    const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
    expect(await locks.request('ledger', () => 'ran')).toBe('ran');
    locks.close();
  },
);
