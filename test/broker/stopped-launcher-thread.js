'use strict';

// Asks for a lock while the clock jumps by an hour, and reports the outcome, and by how much the
// clock jumped. Each thread has its own `process`: no other thread sees that clock.

const net = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');

const HOUR_NS = 3_600_000_000_000n;
const realNow = process.hrtime.bigint;
let stoppedNs = 0n;
// The modules take it when they are loaded.
process.hrtime.bigint = () => realNow() + stoppedNs;
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { openLockManager } = require('../../lib/index.js');

const { connect } = net;
net.connect = (...args) => {
  stoppedNs += HOUR_NS;
  net.connect = connect;
  return connect(...args);
};

async function main({ directory }) {
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  const result = await locks.request('a', () => 'granted').catch((error) => error);
  locks.close();
  parentPort.postMessage([result, stoppedNs / HOUR_NS]);
}

main(workerData);
