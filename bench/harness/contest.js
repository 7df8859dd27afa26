'use strict';

// Some threads or processes that all want one lock all the time.

const { fork } = require('node:child_process');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { loadPeer } = require('../peers/peers.js');
const { makeDirectory } = require('./bucket.js');
const { figuresOf, now } = require('./section-log.js');

const PARTY = path.join(__dirname, 'party.js');
const DURATION_MS = 1_500;
const HEAD_START_NS = 50e6;

function startThread(task) {
  const worker = new Worker(PARTY, { workerData: task });
  return { host: worker, send: (message) => worker.postMessage(message) };
}

function startProcess(task) {
  const child = fork(PARTY, { serialization: 'advanced' });
  child.send(task);
  return { host: child, send: (message) => child.send(message) };
}

const nextMessage = ({ host }) =>
  new Promise((resolve, reject) => {
    host.once('message', resolve);
    host.once('error', reject);
    host.once('exit', () => reject(new Error('a party ended before its time')));
  });

/**
 * @param {{ peer: string, parties: number, place: 'threads' | 'processes', ms?: number }} options
 * @returns {Promise<import('./scenarios.js').Figures>}
 */
async function contest({ peer, parties, place, ms = DURATION_MS }) {
  const directory = makeDirectory();
  await loadPeer(peer).serve?.(directory);
  const buffer = place === 'threads' ? new SharedArrayBuffer(4096) : undefined;
  const start = place === 'threads' ? startThread : startProcess;
  const taskOf = (party) => ({ peer, ms, place: { directory, name: 'ledger', party, buffer } });
  const started = Array.from({ length: parties }, (_, party) => start(taskOf(party)));
  await Promise.all(started.map(nextMessage));
  const logs = started.map(nextMessage);
  const begin = now() + HEAD_START_NS;
  for (const { send } of started) send(begin);
  const figures = figuresOf(await Promise.all(logs));
  const ends = started.map(({ host }) => new Promise((resolve) => host.once('exit', resolve)));
  for (const { send } of started) send('end');
  await Promise.all(ends);
  return figures;
}

/**
 * @param {string} peer
 * @param {{ parties: number, place: 'threads' | 'processes' }} options
 * @param {{ node?: '24' | '26' }} [options]
 * @returns {import('./scenarios.js').Contender}
 */
const contender = (peer, options, { node } = {}) => ({
  node,
  whyNot: () => loadPeer(peer).whyNot?.(),
  measure: () => contest({ peer, ...options }),
});

module.exports = { contender };
