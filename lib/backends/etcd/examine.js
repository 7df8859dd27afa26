'use strict';

// A member's pages over plain HTTP, on the port of its clients, for every reader. gRPC does not
// report its clock. It reports its quota since etcd 3.6, and to some users only.

const http = require('node:http');
const https = require('node:https');
const { dateNow, performance } = require('../../time.js');
const { EtcdClient, isSupported } = require('./etcd-client.js');
const { EtcdError } = require('./etcd-errors.js');
const { BucketKeys } = require('./keys.js');
const { toClusterOptions } = require('./cluster-options.js');
const { getAll, put, removeAll } = require('./transaction.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./cluster-options.js').EtcdOptions} EtcdOptions */
/** @typedef {import('../../../types/etcd.d.ts').EtcdExamination} EtcdExamination */
/** @typedef {import('../../../types/etcd.d.ts').EtcdMemberExamination} EtcdMemberExamination */

/** A page of metrics has a few hundred kilobytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The header `Date` has whole seconds: on average half a second is missing. */
const HALF_A_SECOND_MS = 500;

/** @param {string} text  the page of metrics @param {string} name */
function metric(text, name) {
  const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text);
  return found === null ? undefined : Number(found[1]);
}

/** @param {string} text @param {string} name */
function flag(text, name) {
  const value = metric(text, name);
  return value === undefined ? undefined : value === 1;
}

/**
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @param {string} path
 * @param {number} timeoutMs
 * @returns {Promise<{ text: string, date: string | undefined }>}
 */
function readPage({ isEncrypted, ca, cert, key }, endpoint, path, timeoutMs) {
  const { get } = isEncrypted ? https : http;
  const url = `${isEncrypted ? 'https' : 'http'}://${endpoint}${path}`;
  const certificates = /** @type {any} */ ({ ca, cert, key });
  return new Promise((resolve, reject) => {
    const options = { ...certificates, agent: false, timeout: timeoutMs };
    const request = get(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
        if (text.length > MAX_BYTES) request.destroy(new Error('the page has no end'));
      });
      response.on('end', () => resolve({ text, date: response.headers.date }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', reject);
  });
}

/**
 * How far the clock of a member is ahead of this machine's, to about a second.
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<number | undefined>} undefined: the member does not report it
 */
async function readClockAheadMs(cluster, endpoint, timeoutMs) {
  const start = performance.now();
  const { date } = await readPage(cluster, endpoint, '/version', timeoutMs);
  const there = Date.parse(date ?? '') + HALF_A_SECOND_MS;
  const here = dateNow() - (performance.now() - start) / 2;
  return Number.isNaN(there) ? undefined : Math.round(there - here);
}

/**
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<number | undefined>} undefined: the member does not report it
 */
async function readQuotaBytes(cluster, endpoint, timeoutMs) {
  const { text } = await readPage(cluster, endpoint, '/metrics', timeoutMs);
  return metric(text, 'etcd_server_quota_backend_bytes');
}

/**
 * @typedef {object} StatusPages  what the pages of a member say of it
 * @property {string} version
 * @property {string | undefined} memberId
 * @property {boolean | undefined} hasLeader
 * @property {boolean | undefined} isLeader
 * @property {boolean | undefined} isLearner
 * @property {number | undefined} databaseBytes
 */

/**
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<StatusPages>}
 */
async function readStatusPages(cluster, endpoint, timeoutMs) {
  const [about, metrics] = await Promise.all(
    ['/version', '/metrics'].map((path) => readPage(cluster, endpoint, path, timeoutMs)),
  );
  const { text } = metrics;
  return {
    version: JSON.parse(about.text).etcdserver,
    memberId: /^etcd_server_id\{server_id="(\w+)"\} 1$/m.exec(text)?.[1],
    hasLeader: flag(text, 'etcd_server_has_leader'),
    isLeader: flag(text, 'etcd_server_is_leader'),
    isLearner: flag(text, 'etcd_server_is_learner'),
    databaseBytes: metric(text, 'etcd_mvcc_db_total_size_in_bytes'),
  };
}

/** @typedef {Partial<StatusPages> & { clusterId?: string, roundTripMs: number }} MemberStatus */

const ROUND_TRIPS = 5;

/** @param {any} id */
const toHex = (id) => BigInt(id).toString(16);

/** Whether the member has answered, and refuses this user its status. @param {unknown} error */
const isRefusal = (error) => error instanceof EtcdError && error.isAnswer && error.isFinal;

/** One member, as one user asks it. */
class MemberAsUser {
  #client;
  #timeoutMs;

  /**
   * @param {ClusterOptions} cluster
   * @param {number} timeoutMs
   */
  constructor(cluster, timeoutMs) {
    this.#client = new EtcdClient(cluster);
    this.#timeoutMs = timeoutMs;
  }

  /** @returns {Promise<any>} undefined: the member does not report it */
  async status() {
    try {
      return await this.#client.call('Maintenance', 'Status', {}, this.#timeoutMs);
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** The median; a refusal is an answer, too. */
  async roundTripMs() {
    const times = [];
    for (let i = 0; i < ROUND_TRIPS; i += 1) {
      const start = performance.now();
      await this.status();
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[ROUND_TRIPS >> 1];
  }

  /**
   * Of the answer to a read of that key, which this user may well be allowed.
   * @param {string} key
   * @returns {Promise<string | undefined>} undefined: the member does not report it
   */
  async clusterId(key) {
    const read = { key: Buffer.from(key), count_only: true };
    const answer = await this.#client.call('KV', 'Range', read, this.#timeoutMs).catch(() => null);
    return answer === null ? undefined : toHex(answer.header.cluster_id);
  }

  close() {
    this.#client.close();
  }
}

/** @param {any} status @returns {Omit<MemberStatus, 'roundTripMs'>} */
const fromStatus = ({ version, header, leader, isLearner, dbSize }) => ({
  version,
  clusterId: toHex(header.cluster_id),
  memberId: toHex(header.member_id),
  hasLeader: leader !== '0',
  isLeader: leader === header.member_id,
  isLearner,
  databaseBytes: Number(dbSize),
});

/**
 * Reads the status that a member reports. In a cluster with users it reports the status to root
 * only (etcd 3.4.42 on, 3.5.28 to 3.5.31, 3.6.0 to 3.6.11), or to users only (later ones). Earlier
 * ones report it to every client. Its pages need no user, but may be on another port.
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<MemberStatus>}
 * @throws what the connection says (rejects)
 */
async function readMemberStatus(cluster, endpoint, timeoutMs) {
  const member = { ...cluster, endpoints: [endpoint] };
  const unauthenticated = new MemberAsUser(
    { ...member, user: undefined, password: undefined },
    timeoutMs,
  );
  const user = new MemberAsUser(member, timeoutMs);
  try {
    const status = (await unauthenticated.status()) ?? (await user.status());
    const roundTripMs = await unauthenticated.roundTripMs();
    if (status !== undefined) return { ...fromStatus(status), roundTripMs };
    const pages = await readStatusPages(cluster, endpoint, timeoutMs).catch(() => ({}));
    return { ...pages, clusterId: await user.clusterId(`${cluster.prefix}/`), roundTripMs };
  } finally {
    unauthenticated.close();
    user.close();
  }
}

const TIMEOUT_MS = 3000;
/** The names of etcd's alarms, by number. */
const ALARMS = ['none', 'NOSPACE', 'CORRUPT'];
const NO_SPACE = 1;

/** @param {unknown} error */
const messageOf = (error) => /** @type {Error} */ (error).message;
const unknown = () => undefined;

/**
 * @param {ClusterOptions} cluster
 * @param {string} endpoint
 * @returns {Promise<EtcdMemberExamination>}
 */
async function examineMember(cluster, endpoint) {
  try {
    const status = await readMemberStatus(cluster, endpoint, TIMEOUT_MS);
    return {
      endpoint,
      isReachable: true,
      // A member that is too old reports its version to every user.
      isSupported: status.version === undefined || isSupported(status.version),
      quotaBytes: await readQuotaBytes(cluster, endpoint, TIMEOUT_MS).catch(unknown),
      clockAheadMs: await readClockAheadMs(cluster, endpoint, TIMEOUT_MS).catch(unknown),
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
    await client.call('Lease', 'LeaseRevoke', { ID }, TIMEOUT_MS).catch(unknown);
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
