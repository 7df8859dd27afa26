'use strict';

const { clearTimeout, performance, setTimeout } = require('../../time.js');
const { Backoff } = require('../remote/backoff.js');
const { SessionLost } = require('../remote/lock-session.js');

/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */
/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */

/**
 * The calls of a session that wait for their first answer, so many at most; others follow in their
 * order. More would make each answer late, those to keep-alives too, and a late answer is asked for
 * again: then a session with thousands of names never catches up.
 */
class CallLimit {
  #free;
  /** @type {(() => void)[]} */
  #waiting = [];

  /** @param {number} max */
  constructor(max) {
    this.#free = max;
  }

  /**
   * Waits until a call may begin.
   * @returns {Promise<() => void>} to be called when it counts no more, once at least
   */
  async enter() {
    if (this.#free > 0) this.#free -= 1;
    else await /** @type {Promise<void>} */ (new Promise((begin) => this.#waiting.push(begin)));
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
  }
}

/**
 * Tries of one call, and the first answer to them. A late answer is an answer: no try is given up
 * for another one, because on a busy machine that one would be as late. Another try begins where
 * one has had no answer for a while and another connection can be had, or where one has failed
 * beside others. A failure that leaves in doubt what has happened waits for the others.
 * @template T
 */
class FirstAnswer {
  #client;
  #attempt;
  #max;
  #tries = 0;
  #underWay = 0;
  #isSettled = false;
  #onLate;
  #backoff = new Backoff();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {(value: T) => void} */
  #resolve = () => {};
  /** @type {(error: unknown) => void} */
  #reject = () => {};
  /** @type {Promise<T>} */
  promise;

  /**
   * @param {EtcdClient} client
   * @param {(index: number) => Promise<T>} attempt
   * @param {number} [max]  tries
   * @param {() => void} [onLate]  a try has had no answer for a while
   */
  constructor(client, attempt, max = Infinity, onLate = () => {}) {
    this.#client = client;
    this.#attempt = attempt;
    this.#max = max;
    this.#onLate = onLate;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    void this.#begin();
  }

  /** No try counts any more. @param {unknown} error */
  fail(error) {
    this.#end();
    this.#reject(error);
  }

  #end() {
    clearTimeout(this.#timer);
    this.#isSettled = true;
  }

  async #begin() {
    const index = this.#tries;
    this.#tries += 1;
    this.#underWay += 1;
    try {
      const { connection } = this.#client;
      if (this.#tries < this.#max) this.#awaitAnswer(connection);
      const value = await this.#attempt(index);
      this.#end();
      this.#resolve(value);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  /** @param {any} error */
  #onFailure(error) {
    this.#underWay -= 1;
    if (this.#underWay === 0 || !error.isInDoubt) this.fail(error);
    else if (this.#tries < this.#max) this.#startTimer(() => this.#begin(), this.#backoff.next());
  }

  /** @param {import('./connection.js').Connection} connection */
  #awaitAnswer(connection) {
    this.#startTimer(async () => {
      this.#onLate();
      await this.#client.replace(connection);
      if (this.#isSettled || this.#client.isClosed) return;
      if (this.#client.connection === connection) this.#awaitAnswer(connection);
      else await this.#begin();
    }, this.#client.lateMs);
  }

  /**
   * @param {() => Promise<void>} action
   * @param {number} ms
   */
  #startTimer(action, ms) {
    if (this.#isSettled) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void action(), ms);
  }
}

/** So many calls are made at once: each takes about a millisecond of the thread. */
const MAX_CALLS = 32;

/** The calls of a session. */
class SessionCalls {
  client;
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
    this.client = client;
    this.#ttlMs = ttlMs;
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
    const answer = await this.client.call(service, method, request, timeoutMs);
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
   * @param {boolean} [isUrgent]  waits for no other call
   * @returns {Promise<T>}
   * @throws EtcdError, SessionLost (rejects)
   */
  async first(attempt, max, isUrgent = false) {
    this.checkLives();
    const leave = isUrgent ? () => {} : await this.#limit.enter();
    try {
      this.checkLives();
      // If an answer is late, the next try may need other calls.
      const wait = new FirstAnswer(this.client, attempt, max, leave);
      this.#waits.add(wait);
      return await wait.promise.finally(() => this.#waits.delete(wait));
    } finally {
      leave();
    }
  }
}

module.exports = { FirstAnswer, SessionCalls };
