'use strict';

const { readdirSync, rmSync } = require('node:fs');
const { basename, join } = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openPostgresBackend } = require('../../lib/backends/postgres/backend.js');
const { openEtcdBackend } = require('../../lib/etcd.js');
const { removeLocks } = require('./broker-process.js');

const BUCKET = 'process';

/** The names of files, counted by their first letter. */
function countFiles(names) {
  const counts = {};
  for (const [letter] of names.sort()) counts[letter] = (counts[letter] ?? 0) + 1;
  return counts;
}

/** @param {string} directory */
const brokerFiles = (directory) => new BrokerFiles(BUCKET, directory);

/**
 * The facts of a backend for tests of several processes.
 * @typedef {object} ProcessBackend
 * @property {(options: { directory: string, sweeps: boolean }) => object} open
 * @property {(directory: string) => object} filesIn  what there is of the living, counted
 * @property {(living: { agents: number, processes: number }) => object} filesOf  what they need
 * @property {(directory: string) => void} remove  the directory, with what outlives its clients
 */

/** @type {Record<string, ProcessBackend>} */
const PROCESS_BACKENDS = {
  // The segment, a doorbell for each living agent and a lifeline for each living process.
  'shared memory': {
    open: (options) => new SharedMemoryBackend({ ...options, bucket: BUCKET }),
    filesIn: (directory) => countFiles(readdirSync(join(directory, BUCKET))),
    filesOf: ({ agents, processes }) => ({ a: agents, p: processes, s: 1 }),
    remove: (directory) => rmSync(directory, { recursive: true, force: true }),
  },
  // A lifeline for each living agent.
  broker: {
    open: ({ directory }) => new BrokerBackend({ directory, bucket: BUCKET }),
    filesIn: (directory) => countFiles(readdirSync(brokerFiles(directory).lifelinesFolder)),
    filesOf: ({ agents }) => ({ s: agents }),
    remove: (directory) => removeLocks(brokerFiles(directory)),
  },
};

/**
 * All, with the cluster and the server whose URLs are in the environment.
 * @type {Record<string, ProcessBackend>}
 */
const ALL_PROCESS_BACKENDS = {
  ...PROCESS_BACKENDS,
  etcd: {
    open: () => openEtcdBackend(process.env.HOLDFAST_TEST_ETCD),
    filesIn: () => ({}),
    filesOf: () => ({}),
    remove: (directory) => rmSync(directory, { recursive: true, force: true }),
  },
  postgres: {
    open: ({ directory }) =>
      openPostgresBackend(process.env.HOLDFAST_TEST_POSTGRES, { bucket: basename(directory) }),
    filesIn: () => ({}),
    filesOf: () => ({}),
    remove: (directory) => rmSync(directory, { recursive: true, force: true }),
  },
};

module.exports = { ALL_PROCESS_BACKENDS, PROCESS_BACKENDS };
