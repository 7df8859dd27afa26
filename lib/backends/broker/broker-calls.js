'use strict';

/** @typedef {import('./link.js').Link} Link */
/** @typedef {import('../../loop-keep-alive.js').LoopKeepAlive} LoopKeepAlive */

/**
 * @typedef {object} Call
 * @property {string} what
 * @property {unknown[]} argument
 * @property {boolean} keepsAlive
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** Questions to the broker that have still to be answered; asked again when another one comes. */
class BrokerCalls {
  /** @type {Map<number, Call>} */
  #calls = new Map();
  #lastCall = 0;
  #link;
  #keepAlive;

  /**
   * @param {Link} link
   * @param {LoopKeepAlive} keepAlive
   */
  constructor(link, keepAlive) {
    this.#link = link;
    this.#keepAlive = keepAlive;
  }

  get isIdle() {
    return this.#calls.size === 0;
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @param {boolean} [keepsAlive]  the event loop
   * @returns {Promise<any>}
   */
  ask(what, argument, keepsAlive = true) {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1;
      const call = { what, argument, keepsAlive, resolve, reject };
      this.#calls.set(this.#lastCall, call);
      if (keepsAlive) this.#keepAlive.ref();
      this.#send(this.#lastCall, call);
    });
  }

  /**
   * @param {number} id
   * @param {unknown} value
   */
  receive(id, value) {
    this.#take(id)?.resolve(value);
  }

  /** Another broker has come. It hears of a watch before it is asked what that one has seen. */
  repeat() {
    const calls = [...this.#calls];
    const isWatch = (/** @type {[number, Call]} */ [, { what }]) => what === 'watch';
    const others = calls.filter((call) => !isWatch(call));
    for (const [id, call] of [...calls.filter(isWatch), ...others]) this.#send(id, call);
  }

  /** @param {Error} error */
  failAll(error) {
    for (const id of [...this.#calls.keys()]) this.#take(id)?.reject(error);
  }

  /**
   * @param {number} id
   * @param {Call} call
   */
  #send(id, { what, argument }) {
    this.#link.send(['?', id, what, this.#link.now(), argument]);
  }

  /** @param {number} id */
  #take(id) {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    this.#calls.delete(id);
    if (call.keepsAlive) this.#keepAlive.unref();
    return call;
  }
}

module.exports = { BrokerCalls };
