'use strict';

// Some threads or processes that all want one lock all the time, or one of some.

const { fork } = require('node:child_process');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { loadPeer } = require('../peers/peers.js');
const { makeDirectory } = require('./bucket.js');
const { figuresOf, figuresOfNames, now } = require('./section-log.js');

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
 * @typedef {object} ContestOptions
 * @property {string} peer
 * @property {number} parties
 * @property {'threads' | 'processes'} hosts
 * @property {number} [perHost] parties that share a thread or a process
 * @property {number} [names] that they are divided between
 * @property {number} [ms]
 */

/**
 * @param {ContestOptions} options
 * @param {(directory: string) => Promise<void>} [during] runs beside the contest
 * @returns {Promise<Float64Array[]>} the log of each party
 */
async function playContest(options, during = async () => {}) {
  const { peer, parties, hosts, perHost = 1, names = 1, ms = DURATION_MS } = options;
  const directory = makeDirectory();
  await loadPeer(peer).serve?.(directory);
  const buffer = hosts === 'threads' ? new SharedArrayBuffer(4096) : undefined;
  const start = hosts === 'threads' ? startThread : startProcess;
  const nameOf = (party) => (names === 1 ? 'ledger' : `ledger ${party % names}`);
  const setupOf = (party) => ({ directory, name: nameOf(party), party, parties, buffer });
  const started = Array.from({ length: parties / perHost }, (_, host) => {
    const setups = Array.from({ length: perHost }, (__, i) => setupOf(host * perHost + i));
    return start({ peer, ms, setups });
  });
  const ends = started.map(({ host }) => new Promise((resolve) => host.once('exit', resolve)));
  await Promise.all(started.map(nextMessage));
  const logs = started.map(nextMessage);
  const begin = now() + HEAD_START_NS;
  for (const { send } of started) send(begin);
  const [all] = await Promise.all([Promise.all(logs), during(directory)]);
  for (const { send } of started) send('end');
  const codes = await Promise.all(ends);
  if (codes.some((code) => code !== 0)) throw new Error(`parties ended with ${codes.join()}`);
  return all.flat();
}

/**
 * @param {string} peer
 * @param {Omit<ContestOptions, 'peer'>} options
 * @param {{ node?: '22' | '24' | '26' }} [options]
 * @returns {import('./scenarios.js').Contender}
 */
const contender = (peer, options, { node } = {}) => ({
  node,
  whyNot: () => loadPeer(peer).whyNot?.(),
  measure: async () => {
    const logs = await playContest({ peer, ...options });
    return options.names === undefined ? figuresOf(logs) : figuresOfNames(logs, options.names);
  },
});

module.exports = { contender, playContest };
