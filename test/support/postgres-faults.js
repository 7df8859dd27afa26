'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { faultsOfClients } = require('./stress-faults.js');

/**
 * @typedef {object} PostgresEquipment
 * @property {import('./postgres-cluster.js').PostgresCluster} cluster
 *
 * @typedef {import('./stress-faults.js').Equipment & PostgresEquipment} Equipment
 */

const SESSIONS_END = 'all sessions are ended';

/**
 * The faults of servers and of their clients, of which several may happen at a time. Two of them
 * never happen to the same server.
 */
class PostgresFaults {
  #with;
  /** The last fault of a server. */
  #last = Promise.resolve();

  /** @param {Equipment} equipment */
  constructor(equipment) {
    this.#with = equipment;
  }

  /** Those that this equipment allows. @returns {import('./stress-faults.js').Faults} */
  get all() {
    const { cluster, random, tooLongMs } = this.#with;
    const faults = {
      [SESSIONS_END]: () => cluster.endSessions(),
      'the server is restarted': () => cluster.primary.restart(),
      'the server crashes': () => cluster.primary.restart('immediate'),
      'the server is killed': async () => {
        await cluster.primary.kill();
        await cluster.primary.start();
      },
      'a process of the server is killed': () => this.#killBackend(),
      'the server is stopped': async () => {
        await cluster.suspend();
        await sleep(random(tooLongMs));
        cluster.resume();
      },
      ...(cluster.standby && { 'the standby is promoted': () => cluster.failOver() }),
    };
    return {
      ...faultsOfClients(this.#with),
      ...Object.fromEntries(
        Object.entries(faults).map(([name, harm]) => [name, () => this.#inTurn(harm)]),
      ),
    };
  }

  /**
   * Whether the server ends sessions that it has confirmed, while it grants locks to others.
   * @param {string} name
   */
  static endsSessions(name) {
    return name === SESSIONS_END;
  }

  /** @param {() => Promise<void>} harm  to a server */
  #inTurn(harm) {
    this.#last = this.#last.then(harm);
    return this.#last;
  }

  /** The server ends all others, and starts again. */
  async #killBackend() {
    const { cluster } = this.#with;
    while (!(await this.#tryToKillBackend())) await sleep(20); // the clients may be connecting
    await sleep(100);
    await cluster.untilHealthy();
  }

  async #tryToKillBackend() {
    const [backend] = await this.#with.cluster.insist(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast' LIMIT 1",
    );
    try {
      return backend !== undefined && process.kill(backend.pid, 'SIGKILL');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
      return false;
    }
  }
}

module.exports = { PostgresFaults };
