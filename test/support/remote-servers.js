'use strict';

const { EtcdCluster } = require('./etcd-cluster.js');
const { PostgresServer } = require('./postgres-server.js');

// The servers of the tests that run over etcd and over PostgreSQL alike.

/**
 * An etcd of one member.
 * @param {Parameters<typeof EtcdCluster.start>[0]} [options]
 */
async function startEtcd(options) {
  const cluster = await EtcdCluster.start(options);
  const [member] = cluster.members;
  return Object.assign(cluster, {
    suspend: () => member.suspend(),
    resume: () => member.signal('SIGCONT'),
    kill: () => member.kill(),
    startAgain: () => member.start(cluster.members, 'existing'),
    /** The place that is shown of a URL. */
    place: (/** @type {string} */ url) => url,
  });
}

/** PostgreSQL with the interface of a cluster. */
class PostgresCluster {
  #server;
  #client;

  /** @param {Parameters<typeof PostgresServer.start>[0]} [options] */
  static async start(options) {
    const cluster = new PostgresCluster();
    cluster.#server = await PostgresServer.start(options);
    cluster.#client = await cluster.#server.connect();
    return cluster;
  }

  /** One database for all. @param {string} _prefix @param {string} [query] */
  url(_prefix, query = '') {
    return this.#server.url({ query });
  }

  /** The place that is shown of a URL: without the user. @param {string} url */
  place(url) {
    return url.replace(/holdfast@/, '');
  }

  async suspend() {
    this.#server.signal('SIGSTOP');
  }

  resume() {
    this.#server.signal('SIGCONT');
  }

  /** One row for each request. */
  async keys() {
    return (await this.#client.query('SELECT FROM holdfast.requests')).rows;
  }

  async kill() {
    await this.#client.end();
    await this.#server.kill();
  }

  async startAgain() {
    await this.#server.start();
    this.#client = await this.#server.connect();
  }

  /** Resolves when no session is left. */
  async untilEmpty() {
    const sessions = 'SELECT FROM pg_locks WHERE classid = 1212368708';
    while ((await this.#client.query(sessions)).rowCount > 0);
  }

  async stop() {
    await this.#client.end();
    await this.#server.remove();
  }
}

module.exports = { startEtcd, startPostgres: PostgresCluster.start };
