'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { startProgram } = require('../harness/programs.js');
const { quantile } = require('../harness/statistics.js');
const { CAPACITY } = require('../peers/holdfast.js');
const { loadPeer } = require('../peers/peers.js');

const REQUESTS = 100_000;
const IDLE_PROCESSES = 5;
const BLOCK_BYTES = 512;

const heapBytes = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};

/**
 * @param {import('../peers/peers.js').Opened['run']} run
 * @param {() => number} [segmentBytes]
 */
async function measurePending(run, segmentBytes = () => 0) {
  let open = () => {};
  const opened = new Promise((resolve) => (open = () => resolve(undefined)));
  const section = () => {};
  const requests = new Array(REQUESTS + 1).fill(undefined);
  requests[0] = run(() => opened);
  const [heap, segment] = [heapBytes(), segmentBytes()];
  for (let i = 1; i <= REQUESTS; i += 1) requests[i] = run(section);
  const figures = {
    'heap bytes per request': (heapBytes() - heap) / REQUESTS,
    'segment bytes per request': (segmentBytes() - segment) / REQUESTS,
  };
  open();
  await Promise.all(requests);
  return figures;
}

/** @param {string} directory or `-` */
async function ownBytesOfIdle(directory) {
  const bytes = [];
  for (let i = 0; i < IDLE_PROCESSES; i += 1) {
    const idle = await startProgram('idle', [directory]);
    bytes.push(idle.first);
    await idle.stop();
  }
  return quantile(bytes, 0.5);
}

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 10,
  title: 'Memory of 100,000 pending requests for one name, and of an idle process',
  rounds: 3,
  contenders: {
    holdfast: {
      flags: ['--expose-gc'],
      async measure() {
        const directory = makeDirectory();
        const locks = openLockManager({ directory, capacity: CAPACITY });
        const segment = path.join(directory, 'default', 'segment');
        const segmentBytes = () => fs.statSync(segment).blocks * BLOCK_BYTES;
        const idle = await ownBytesOfIdle(directory);
        const plain = await ownBytesOfIdle('-');
        const other = await startProgram('idle', [directory]);
        const beside = await ownBytesOfIdle(directory);
        await other.stop();
        return {
          ...(await measurePending((section) => locks.request('ledger', section), segmentBytes)),
          'idle MB over plain Node': (idle - plain) / 1e6,
          'idle MB over plain Node, beside another': (beside - plain) / 1e6,
        };
      },
    },
    'named JavaScript table': {
      flags: ['--expose-gc'],
      measure() {
        const { run } = loadPeer('js-table').open({ directory: '', name: 'ledger', party: 0 });
        return measurePending(run);
      },
    },
    'async-mutex': {
      flags: ['--expose-gc'],
      measure() {
        const { run } = loadPeer('async-mutex').open({ directory: '', name: 'ledger', party: 0 });
        return measurePending(run);
      },
    },
  },
  goals: [
    { of: 'holdfast', figure: 'segment bytes per request', atMost: 256 },
    { of: 'holdfast', figure: 'heap bytes per request', atMost: 600 },
    { of: 'holdfast', figure: 'idle MB over plain Node', atMost: 1.2 },
    { of: 'holdfast', figure: 'idle MB over plain Node, beside another', atMost: 1.2 },
  ],
  chart: { figure: 'heap bytes per request', title: 'JavaScript heap of a pending request, bytes' },
};
