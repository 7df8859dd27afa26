'use strict';

const { performance } = require('../../time.js');
const { EtcdClient } = require('./etcd-client.js');
const { isSupported } = require('./etcd-version.js');
const { BucketKeys } = require('./keys.js');
const { toClusterOptions } = require('./cluster-options.js');
const { readClockAheadMs, readQuotaBytes } = require('./member-pages.js');
const { readMemberStatus } = require('./member-status.js');
const { getAll, put, removeAll } = require('./transaction.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./cluster-options.js').EtcdOptions} EtcdOptions */
/** @typedef {import('../../../types/etcd.d.ts').EtcdExamination} EtcdExamination */
/** @typedef {import('../../../types/etcd.d.ts').EtcdMemberExamination} EtcdMemberExamination */

const TIMEOUT_MS = 3000;
/** The names of etcd's alarms, by number. */
const ALARMS = ['none', 'NOSPACE', 'CORRUPT'];
const NO_SPACE = 1;

/** @param {unknown} error */
const messageOf = (error) => /** @type {Error} */ (error).message;
const notTold = () => undefined;

/**
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @returns {Promise<EtcdMemberExamination>}
 */
async function examineMember(place, endpoint) {
  try {
    const status = await readMemberStatus(place, endpoint, TIMEOUT_MS);
    return {
      endpoint,
      isReachable: true,
      // A member that is too old reports its version to every user.
      isSupported: status.version === undefined || isSupported(status.version),
      quotaBytes: await readQuotaBytes(place, endpoint, TIMEOUT_MS).catch(notTold),
      clockAheadMs: await readClockAheadMs(place, endpoint, TIMEOUT_MS).catch(notTold),
      ...status,
    };
  } catch (error) {
    return { endpoint, isReachable: false, problem: messageOf(error) };
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
  try {
    await client.call('KV', 'Txn', { success: [put(`${keys}key`, '', ID)] }, TIMEOUT_MS);
    await client.call('KV', 'Txn', { success: [removeAll(keys)] }, TIMEOUT_MS);
  } finally {
    await client.call('Lease', 'LeaseRevoke', { ID }, TIMEOUT_MS).catch(notTold);
  }
  return (performance.now() - start) / 4;
}

/**
 * @param {EtcdClient} client
 * @param {BucketKeys} bucket
 */
const readOnce = (client, bucket) =>
  client.call('KV', 'Txn', { success: [getAll(`${bucket.root}examination/`)] }, TIMEOUT_MS);

/**
 * The alarms of all members, each once.
 * @param {EtcdClient} client
 * @returns {Promise<{ names: string[], isFull: boolean }>}
 */
async function readAlarms(client) {
  const { alarms } = await client.call('Maintenance', 'Alarm', { action: 0 }, TIMEOUT_MS);
  const numbers = alarms.map((/** @type {any} */ { alarm }) => alarm);
  const names = numbers.map((/** @type {number} */ it) => ALARMS[it] ?? `alarm ${it}`);
  return {
    names: [...new Set(/** @type {string[]} */ (names))],
    isFull: numbers.includes(NO_SPACE),
  };
}

/** @param {EtcdMemberExamination[]} members */
function problemsOf(members) {
  const clusters = new Set(members.flatMap(({ clusterId }) => clusterId ?? []));
  return [
    ...members.flatMap(({ endpoint, isReachable, isSupported: isNew, version, problem }) => {
      if (!isReachable) return [`${endpoint} is not reached: ${problem}`];
      return isNew ? [] : [`${endpoint} is etcd ${version}, and 3.4 is needed`];
    }),
    ...(clusters.size > 1 ? ['the endpoints belong to several clusters'] : []),
  ];
}

/**
 * Whether locks can live in a cluster, and if not, why: checks each member, and then the calls of a
 * session.
 * @param {string} url
 * @param {EtcdOptions} [options]
 * @returns {Promise<EtcdExamination>}
 */
async function examineEtcd(url, options = {}) {
  const place = toClusterOptions(url, options);
  const members = await Promise.all(place.endpoints.map((one) => examineMember(place, one)));
  const problems = problemsOf(members);
  const reached = members.filter(({ isReachable }) => isReachable).map(({ endpoint }) => endpoint);
  const client = new EtcdClient({
    ...place,
    endpoints: reached.length > 0 ? reached : place.endpoints,
  });
  const bucket = new BucketKeys(place.prefix, place.bucket);
  /** @type {{ read?: string, write?: string }} why not */
  const refused = {};
  await readOnce(client, bucket).catch((error) => (refused.read = messageOf(error)));
  /** @type {number | undefined} */
  const changeMs = await writeOnce(client, bucket).catch((error) => {
    refused.write = messageOf(error);
    return undefined;
  });
  for (const [what, why] of Object.entries(refused)) {
    const done = what === 'read' ? 'read' : 'written';
    problems.push(`a key below '${place.prefix}' cannot be ${done}: ${why}`);
  }
  // A user who may not list alarms still notices them: the test write fails.
  const alarms = await readAlarms(client).catch(() => ({ names: [], isFull: false }));
  if (alarms.isFull) {
    problems.push('the space quota of the cluster is used up: compact and defragment it');
  }
  client.close();
  return {
    prefix: place.prefix,
    members,
    alarms: alarms.names,
    refused,
    changeMs,
    problems,
    isUsable: refused.read === undefined && refused.write === undefined && !alarms.isFull,
  };
}

module.exports = { examineEtcd };
