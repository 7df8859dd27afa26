'use strict';

// A member's pages over plain HTTP, on the port of its clients, for every reader. gRPC does not
// report its clock. It reports its quota since etcd 3.6, and to some users only.

const http = require('node:http');
const https = require('node:https');
const { dateNow, performance } = require('../../time.js');
const { readRoundTripMs } = require('../remote/round-trip.js');
const { EtcdClient, isSupported } = require('./etcd-client.js');
const { EtcdError } = require('./etcd-errors.js');
const { BucketKeys } = require('./keys.js');
const { toClusterOptions } = require('./cluster-options.js');
const { getAll, put, remove } = require('./transaction.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./cluster-options.js').EtcdOptions} EtcdOptions */
/** @typedef {import('../../../types/etcd.d.ts').EtcdExamination} EtcdExamination */
/** @typedef {import('../../../types/etcd.d.ts').EtcdMemberExamination} EtcdMemberExamination */

/** A page of metrics has a few hundred kilobytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The header `Date` has whole seconds: on average half a second is missing. */
const HALF_A_SECOND_MS = 500;

const TIMEOUT_MS = 3000;

/**
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @param {string} path
 * @returns {Promise<{ text: string, clockAheadMs?: number }>}  clockAheadMs: how far the clock of
 *   the member is ahead of this machine's, to about a second
 */
function readPage({ isEncrypted, ca, cert, key }, endpoint, path) {
  const { get } = isEncrypted ? https : http;
  const url = `${isEncrypted ? 'https' : 'http'}://${endpoint}${path}`;
  const certificates = /** @type {any} */ ({ ca, cert, key });
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const options = { ...certificates, agent: false, timeout: TIMEOUT_MS };
    const request = get(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
        if (text.length > MAX_BYTES) request.destroy(new Error('the page has no end'));
      });
      response.on('end', () => {
        const there = Date.parse(response.headers.date ?? '') + HALF_A_SECOND_MS;
        const here = dateNow() - (performance.now() - start) / 2;
        resolve({ text, clockAheadMs: Number.isNaN(there) ? undefined : Math.round(there - here) });
      });
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', reject);
  });
}

/**
 * The state of a member from its pages. It is undefined, as far as they do not report it.
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 */
async function readPages(cluster, endpoint) {
  const [about, { text }] = await Promise.all(
    ['/version', '/metrics'].map((path) =>
      readPage(cluster, endpoint, path).catch(() => ({ text: '', clockAheadMs: undefined })),
    ),
  );
  const metric = (/** @type {string} */ name) => {
    const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text);
    return found === null ? undefined : Number(found[1]);
  };
  const flag = (/** @type {string} */ name) => {
    const value = metric(name);
    return value === undefined ? undefined : value === 1;
  };
  return {
    version: /"etcdserver":"([^"]+)"/.exec(about.text)?.[1],
    memberId: /^etcd_server_id\{server_id="(\w+)"\} 1$/m.exec(text)?.[1],
    hasLeader: flag('etcd_server_has_leader'),
    isLeader: flag('etcd_server_is_leader'),
    isLearner: flag('etcd_server_is_learner'),
    databaseBytes: metric('etcd_mvcc_db_total_size_in_bytes'),
    quotaBytes: metric('etcd_server_quota_backend_bytes'),
    clockAheadMs: about.clockAheadMs,
  };
}

/** @param {any} id */
const toHex = (id) => BigInt(id).toString(16);

/** Whether the member has answered, and refuses this user its status. @param {unknown} error */
const isRefusal = (error) => error instanceof EtcdError && error.isAnswer && error.isFinal;

/** @param {EtcdClient} client @returns {Promise<any>} undefined: the member does not report it */
async function readStatus(client) {
  try {
    return await client.call('Maintenance', 'Status', {}, TIMEOUT_MS);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
}

/**
 * Of the answer to a read of that key, which this user may well be allowed.
 * @param {EtcdClient} client
 * @param {string} key
 * @returns {Promise<string | undefined>} undefined: the member does not report it
 */
async function readClusterId(client, key) {
  const read = { key: Buffer.from(key), count_only: true };
  const answer = await client.call('KV', 'Range', read, TIMEOUT_MS).catch(() => null);
  return answer === null ? undefined : toHex(answer.header.cluster_id);
}

/** @param {any} status */
const fromStatus = ({ version, header, leader, isLearner, dbSize }) => ({
  version,
  clusterId: toHex(header.cluster_id),
  memberId: toHex(header.member_id),
  hasLeader: leader !== '0',
  isLeader: leader === header.member_id,
  isLearner,
  databaseBytes: Number(dbSize),
});

/** The names of etcd's alarms, by number. */
const ALARMS = ['none', 'NOSPACE', 'CORRUPT'];
const NO_SPACE = 1;

/** @param {unknown} error */
const messageOf = (error) => /** @type {Error} */ (error).message;

/**
 * Reads the state of a member. In a cluster with users it reports its status to root only
 * (etcd 3.4.42 on, 3.5.28 to 3.5.31, 3.6.0 to 3.6.11), or to users only (later ones). Earlier ones
 * report it to every client. Its pages need no user, but may be on another port.
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @returns {Promise<EtcdMemberExamination>}
 */
async function examineMember(cluster, endpoint) {
  const member = { ...cluster, endpoints: [endpoint] };
  const unauthenticated = new EtcdClient({ ...member, user: undefined, password: undefined });
  const user = new EtcdClient(member);
  try {
    const status = (await readStatus(unauthenticated)) ?? (await readStatus(user));
    // A refusal is an answer, too.
    const roundTripMs = await readRoundTripMs(() => readStatus(unauthenticated));
    const reported =
      status === undefined
        ? { clusterId: await readClusterId(user, `${cluster.prefix}/`) }
        : fromStatus(status);
    const found = { ...(await readPages(cluster, endpoint)), ...reported, roundTripMs };
    return {
      endpoint,
      isReachable: true,
      // A member that is too old reports its version to every user.
      isSupported: found.version === undefined || isSupported(found.version),
      ...found,
    };
  } catch (error) {
    return { endpoint, isReachable: false, problem: messageOf(error) };
  } finally {
    unauthenticated.close();
    user.close();
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
  const key = `${bucket.root}examination/${ID}`;
  try {
    await client.call('KV', 'Txn', { success: [put(key, '', ID)] }, TIMEOUT_MS);
    await client.call('KV', 'Txn', { success: [remove(key)] }, TIMEOUT_MS);
  } finally {
    await client.call('Lease', 'LeaseRevoke', { ID }, TIMEOUT_MS).catch(() => undefined);
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
 * @param {EtcdOptions | null} [options]
 * @returns {Promise<EtcdExamination>}
 */
async function examineEtcd(url, options = undefined) {
  const cluster = toClusterOptions(url, options);
  const members = await Promise.all(cluster.endpoints.map((one) => examineMember(cluster, one)));
  const problems = problemsOf(members);
  const reached = members.filter(({ isReachable }) => isReachable).map(({ endpoint }) => endpoint);
  const client = new EtcdClient({
    ...cluster,
    endpoints: reached.length > 0 ? reached : cluster.endpoints,
  });
  const bucket = new BucketKeys(cluster.prefix, cluster.bucket);
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
    problems.push(`a key below '${cluster.prefix}' cannot be ${done}: ${why}`);
  }
  // A user who may not list alarms still notices them: the test write fails.
  const alarms = await readAlarms(client).catch(() => ({ names: [], isFull: false }));
  if (alarms.isFull) {
    problems.push('the space quota of the cluster is used up: compact and defragment it');
  }
  client.close();
  return {
    prefix: cluster.prefix,
    members,
    alarms: alarms.names,
    refused,
    changeMs,
    problems,
    isUsable: refused.read === undefined && refused.write === undefined && !alarms.isFull,
  };
}

module.exports = { examineEtcd };
