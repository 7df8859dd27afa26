'use strict';

const { EtcdCluster } = require('./etcd-cluster.js');
const { PostgresServer } = require('./postgres-server.js');

// The servers of the tests that run over etcd and over PostgreSQL alike.

/** @returns {Promise<EtcdCluster>} */
const startEtcd = () => EtcdCluster.start();

/** PostgreSQL with the interface of a cluster. */
class PostgresCluster {
  #server;
  #client;

  static async start() {
    const cluster = new PostgresCluster();
    cluster.#server = await PostgresServer.start();
    cluster.#client = await cluster.#server.connect();
    return cluster;
  }

  /** One database for all. @param {string} _prefix @param {string} [query] */
  url(_prefix, query = '') {
    return this.#server.url({ query });
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

module.exports = { startEtcd, startPostgres: () => PostgresCluster.start() };
