'use strict';

const { performance } = require('../../time.js');
const { EtcdClient } = require('./etcd-client.js');
const { BucketKeys } = require('./keys.js');
const { toClusterOptions } = require('./cluster-options.js');
const { put, removeAll } = require('./transaction.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./cluster-options.js').EtcdOptions} EtcdOptions */
/** @typedef {import('../../../types/etcd.d.ts').EtcdExamination} EtcdExamination */
/** @typedef {import('../../../types/etcd.d.ts').EtcdMemberExamination} EtcdMemberExamination */

const TIMEOUT_MS = 3000;
const ROUND_TRIPS = 5;
const NO_SPACE = 1;

/** @param {unknown} error */
const messageOf = (error) => /** @type {Error} */ (error).message;

/**
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @returns {Promise<EtcdMemberExamination>}
 */
async function examineMember(place, endpoint) {
  const client = new EtcdClient({ ...place, endpoints: [endpoint] });
  try {
    const status = await client.call('Maintenance', 'Status', {}, TIMEOUT_MS);
    const times = [];
    for (let i = 0; i < ROUND_TRIPS; i += 1) {
      const start = performance.now();
      await client.call('Maintenance', 'Status', {}, TIMEOUT_MS);
      times.push(performance.now() - start);
    }
    return {
      endpoint,
      isReachable: true,
      version: status.version,
      hasLeader: status.leader !== '0',
      databaseBytes: Number(status.dbSize),
      roundTripMs: times.sort((a, b) => a - b)[ROUND_TRIPS >> 1],
    };
  } catch (error) {
    return { endpoint, isReachable: false, problem: messageOf(error) };
  } finally {
    client.close();
  }
}

/**
 * Takes a lease and writes and removes a key of it, as a session does.
 * @param {EtcdClient} client
 * @param {BucketKeys} bucket
 */
async function writeOnce(client, bucket) {
  const start = performance.now();
  const { ID } = await client.call('Lease', 'LeaseGrant', { TTL: '10', ID: '0' }, TIMEOUT_MS);
  const keys = `${bucket.root}examination/${ID}/`;
  await client.call('KV', 'Txn', { success: [put(`${keys}key`, '', ID)] }, TIMEOUT_MS);
  await client.call('KV', 'Txn', { success: [removeAll(keys)] }, TIMEOUT_MS);
  await client.call('Lease', 'LeaseRevoke', { ID }, TIMEOUT_MS);
  return (performance.now() - start) / 4;
}

/** @param {EtcdClient} client */
async function isOutOfSpace(client) {
  const { alarms } = await client.call('Maintenance', 'Alarm', { action: 0 }, TIMEOUT_MS);
  return alarms.some((/** @type {any} */ { alarm }) => alarm === NO_SPACE);
}

/**
 * Whether locks can live in a cluster, and if not, why: each member by itself, then what a session
 * does.
 * @param {string} url
 * @param {EtcdOptions} [options]
 * @returns {Promise<EtcdExamination>}
 */
async function examineEtcd(url, options = {}) {
  const place = toClusterOptions(url, options);
  const members = await Promise.all(place.endpoints.map((one) => examineMember(place, one)));
  const problems = members
    .filter(({ isReachable }) => !isReachable)
    .map(({ endpoint, problem }) => `${endpoint} is not reached: ${problem}`);
  const client = new EtcdClient(place);
  /** @type {number | undefined} */
  let changeMs;
  try {
    changeMs = await writeOnce(client, new BucketKeys(place.prefix, place.bucket));
  } catch (error) {
    problems.push(`a key below '${place.prefix}' cannot be written: ${messageOf(error)}`);
  }
  // Who may not ask for alarms is told of them by the write.
  const isFull = await isOutOfSpace(client).catch(() => false);
  if (isFull) problems.push('the space quota of the cluster is used up: compact and defragment it');
  client.close();
  return { members, changeMs, problems, isUsable: changeMs !== undefined && !isFull };
}

module.exports = { examineEtcd };
