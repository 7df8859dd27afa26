'use strict';

const { performance } = require('../../time.js');
const { CallLimit, FirstAnswer } = require('./first-answer.js');

/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */
/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */

/** So many calls are made at once: each takes about a millisecond of the thread. */
const MAX_CALLS = 32;

/** The session has ended: everything that it held or waited for is gone. */
class SessionLost extends Error {}

/** The calls of a session. */
class SessionCalls {
  #client;
  #ttlMs;
  #isOver = false;
  /** @type {Set<FirstAnswer<any>>} */
  #waits = new Set();
  #limit = new CallLimit(MAX_CALLS);
  counts = { roundTrips: 0, roundTripMs: 0, keepAlives: 0, inDoubt: 0 };

  /**
   * @param {EtcdClient} client
   * @param {number} ttlMs
   */
  constructor(client, ttlMs) {
    this.#client = client;
    this.#ttlMs = ttlMs;
  }

  get client() {
    return this.#client;
  }

  get isOver() {
    return this.#isOver;
  }

  /** @throws SessionLost */
  checkLives() {
    if (this.#isOver) throw new SessionLost();
  }

  /** All that waits for an answer learns that the session is lost. */
  end() {
    this.#isOver = true;
    for (const wait of this.#waits) wait.fail(new SessionLost());
  }

  /**
   * One try, which waits for its answer as long as a lease lives.
   * @param {'KV' | 'Lease' | 'Maintenance'} service
   * @param {string} method
   * @param {object} request
   * @param {number} [timeoutMs]
   * @returns {Promise<any>}
   * @throws EtcdError (rejects)
   */
  async once(service, method, request, timeoutMs = this.#ttlMs) {
    const start = performance.now();
    const answer = await this.#client.call(service, method, request, timeoutMs);
    this.counts.roundTrips += 1;
    this.counts.roundTripMs += performance.now() - start;
    return answer;
  }

  /**
   * A call that may be made more than once.
   * @param {'KV' | 'Lease' | 'Maintenance'} service
   * @param {string} method
   * @param {object} request
   * @returns {Promise<any>}
   * @throws EtcdError, SessionLost (rejects)
   */
  repeat(service, method, request) {
    return this.first(() => this.once(service, method, request));
  }

  /**
   * See FirstAnswer.
   * @template T
   * @param {(index: number) => Promise<T>} attempt
   * @param {number} [max]  tries
   * @returns {Promise<T>}
   * @throws EtcdError, SessionLost (rejects)
   */
  async first(attempt, max) {
    this.checkLives();
    const wait = new FirstAnswer(this.#client, attempt, max, this.#limit);
    this.#waits.add(wait);
    try {
      return await wait.promise;
    } finally {
      this.#waits.delete(wait);
    }
  }
}

module.exports = { SessionCalls, SessionLost };
