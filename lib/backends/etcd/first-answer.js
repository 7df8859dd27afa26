'use strict';

const { clearTimeout, setTimeout } = require('../../time.js');
const { Backoff } = require('./backoff.js');

/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */

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
   */
  constructor(client, attempt, max = Infinity) {
    this.#client = client;
    this.#attempt = attempt;
    this.#max = max;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    void this.#begin();
  }

  /** No try counts any more. @param {unknown} error */
  fail(error) {
    if (this.#settle()) this.#reject(error);
  }

  #settle() {
    clearTimeout(this.#timer);
    const isFirst = !this.#isSettled;
    this.#isSettled = true;
    return isFirst;
  }

  async #begin() {
    const index = this.#tries;
    this.#tries += 1;
    this.#underWay += 1;
    try {
      const { connection } = this.#client;
      if (this.#tries < this.#max) this.#awaitAnswer(connection);
      const value = await this.#attempt(index);
      if (this.#settle()) this.#resolve(value);
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

module.exports = { FirstAnswer };
