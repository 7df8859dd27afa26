'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { FUNCTIONS } = require('../../lib/backends/postgres/schema.js');
const { PostgresServer } = require('./postgres-server.js');

/** The proof of life of each session; see lib/backends/postgres/schema.js. */
const SESSION_LOCKS = `
  SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 1212368708 AND granted`;

/** One PostgreSQL server, or a primary and its standby, with the interface of a cluster. */
class PostgresCluster {
  /** @type {PostgresServer} */
  primary;
  /** @type {PostgresServer | undefined} */
  standby;
  #endpoints = [];
  #isStopped = false;

  /**
   * @param {Parameters<typeof PostgresServer.start>[0] & { hasStandby?: boolean }} [options]
   */
  static async start({ hasStandby = false, ...options } = {}) {
    const cluster = new PostgresCluster();
    cluster.primary = await PostgresServer.start(options);
    if (hasStandby) cluster.standby = await PostgresServer.standbyOf(cluster.primary);
    cluster.#endpoints = cluster.#servers.map(({ endpoint }) => endpoint);
    return cluster;
  }

  get #servers() {
    return [this.primary, this.standby].filter((it) => it !== undefined);
  }

  /** They stay the same when servers change their roles. */
  get endpoints() {
    return this.#endpoints;
  }

  /** One database for all. @param {string} prefix @param {string} [query] */
  url(prefix, query) {
    return this.urlOf(this.#endpoints, prefix, query);
  }

  /** @param {string[]} endpoints @param {string} _prefix @param {string} [query] */
  urlOf(endpoints, _prefix, query = '') {
    return `postgres://holdfast@${endpoints.join(',')}/postgres${query}`;
  }

  /** The place that is shown of a URL: without the user. @param {string} url */
  place(url) {
    return url.replace(/holdfast@/, '');
  }

  /**
   * Asks the primary, again while it does not answer.
   * @param {string} query
   * @returns {Promise<any[]>} rows
   */
  async insist(query) {
    for (;;) {
      try {
        const client = await this.primary.connect();
        try {
          return (await client.query(query)).rows;
        } finally {
          client.end().catch(() => {});
        }
      } catch (error) {
        if (this.#isStopped) throw error;
        await sleep(20);
      }
    }
  }

  /** It answers, and takes changes. */
  async untilHealthy() {
    while ((await this.insist('SELECT pg_is_in_recovery() AS is'))[0].is) await sleep(20);
  }

  async suspend() {
    this.primary.signal('SIGSTOP');
  }

  resume() {
    this.primary.signal('SIGCONT');
  }

  async kill() {
    await this.primary.kill();
  }

  async startAgain() {
    await this.primary.start();
  }

  /** One row for each request. */
  keys() {
    return this.insist('SELECT FROM holdfast.requests');
  }

  /** Ends all sessions by force. */
  async endSessions() {
    await this.insist(`SELECT pg_terminate_backend(pid) FROM (${SESSION_LOCKS}) s`);
  }

  /** The primary dies, the standby is promoted, and a new standby has the port of the primary. */
  async failOver() {
    const { primary, standby } = this;
    await primary.kill();
    await standby.promote();
    [this.primary, this.standby] = [standby, undefined];
    await this.untilHealthy();
    await primary.remove();
    this.standby = await PostgresServer.standbyOf(standby, { port: primary.port });
  }

  /** @returns {Promise<bigint>} at least the greatest token that was given so far */
  async lastToken() {
    const [{ token }] = await this.insist(
      'SELECT (l.epoch << 32) + c.last_value AS token FROM holdfast.last_epoch l, holdfast.counter c',
    );
    return BigInt(token);
  }

  /** No living session has a request. */
  async untilRested() {
    const requests = `SELECT FROM holdfast.requests r WHERE ${FUNCTIONS}.alive(r.session, 0)`;
    while ((await this.insist(requests)).length > 0) await sleep(20);
  }

  /** Resolves when no session is left. */
  async untilEmpty() {
    while ((await this.insist(SESSION_LOCKS)).length > 0) await sleep(20);
  }

  async stop() {
    this.#isStopped = true;
    await Promise.all(this.#servers.map((server) => server.remove()));
  }
}

module.exports = { PostgresCluster };
