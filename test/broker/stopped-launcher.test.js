'use strict';

const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');

const PROGRAM = path.join(__dirname, 'stopped-launcher-thread.js');

// The clock continues while a thread is stopped, or busy.
test('a thread that is stopped during its search for a broker continues the search', async () => {
  const directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const files = new BrokerFiles('default', directory);
  files.ensure();
  const socket = files.newSocketName(files.epochsFolder);
  files.claimEpoch({ number: 1, socket, key: 'of a broker that has died', pid: 0 });
  const thread = new Worker(PROGRAM, { workerData: { directory } });
  expect(await once(thread, 'message')).toEqual([['granted', 1n]]);
  await thread.terminate();
  fs.rmSync(directory, { recursive: true, force: true });
});
