'use strict';

const { performance } = require('../../time.js');
const { EtcdClient } = require('./etcd-client.js');
const { EtcdError } = require('./etcd-errors.js');
const { readStatusPages } = require('./member-pages.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./member-pages.js').StatusPages} StatusPages */
/** @typedef {Partial<StatusPages> & { clusterId?: string, roundTripMs: number }} MemberStatus */

const ROUND_TRIPS = 5;

/** @param {any} id */
const toHex = (id) => BigInt(id).toString(16);

/** Whether the member has answered, and refuses this user its status. @param {unknown} error */
const isRefusal = (error) => error instanceof EtcdError && error.isAnswer && error.isFinal;

/** One member, as one user asks it. */
class MemberAsked {
  #client;
  #timeoutMs;

  /**
   * @param {ClusterOptions} place
   * @param {number} timeoutMs
   */
  constructor(place, timeoutMs) {
    this.#client = new EtcdClient(place);
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
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<MemberStatus>}
 * @throws what the connection says (rejects)
 */
async function readMemberStatus(place, endpoint, timeoutMs) {
  const member = { ...place, endpoints: [endpoint] };
  const anybody = new MemberAsked({ ...member, user: undefined, password: undefined }, timeoutMs);
  const user = new MemberAsked(member, timeoutMs);
  try {
    const status = (await anybody.status()) ?? (await user.status());
    const roundTripMs = await anybody.roundTripMs();
    if (status !== undefined) return { ...fromStatus(status), roundTripMs };
    const pages = await readStatusPages(place, endpoint, timeoutMs).catch(() => ({}));
    return { ...pages, clusterId: await user.clusterId(`${place.prefix}/`), roundTripMs };
  } finally {
    anybody.close();
    user.close();
  }
}

module.exports = { readMemberStatus };
