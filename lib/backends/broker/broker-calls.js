'use strict';

const { machineNow } = require('./machine-clock.js');

/** @typedef {import('./link.js').Link} Link */
/** @typedef {import('../../loop-keep-alive.js').LoopKeepAlive} LoopKeepAlive */

/**
 * @typedef {object} Call
 * @property {string} what
 * @property {unknown[]} argument
 * @property {number} t  when it was made, by the clock of this process
 * @property {boolean} keepsAlive
 * @property {Record<string, unknown[]>} parts  of the lists of its answer, by key, so far
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** Calls that the broker has still to answer; each further broker receives them again. */
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
   * @param {number} [t]  when it was made, if not now
   * @returns {Promise<any>}
   */
  ask(what, argument, keepsAlive = true, t = machineNow()) {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1;
      const call = { what, argument, t, keepsAlive, parts: {}, resolve, reject };
      this.#calls.set(this.#lastCall, call);
      if (keepsAlive) this.#keepAlive.ref();
      this.#link.send(toMessage(this.#lastCall, call, (at) => this.#link.toBrokerTime(at)));
    });
  }

  /**
   * @param {number} id
   * @param {unknown} value
   */
  receive(id, value) {
    const call = this.#take(id);
    call?.resolve(joined(call.parts, value));
  }

  /**
   * @param {number} id
   * @param {string} key  of a list in the answer; '': the answer is the list
   * @param {unknown[]} items
   */
  receivePart(id, key, items) {
    const parts = this.#calls.get(id)?.parts;
    if (parts !== undefined) parts[key] = parts[key]?.concat(items) ?? items;
  }

  /**
   * @param {number} id
   * @param {Error} error
   */
  receiveError(id, error) {
    this.#take(id)?.reject(error);
  }

  /**
   * All calls for another broker, in the order in which they were made.
   * @param {(t: number) => number} toBrokerTime
   */
  messages(toBrokerTime) {
    const calls = [...this.#calls].sort(([, a], [, b]) => a.t - b.t);
    return calls.map(([id, call]) => {
      call.parts = {}; // an earlier broker may have sent some
      return toMessage(id, call, toBrokerTime);
    });
  }

  /** @param {Error} error */
  failAll(error) {
    for (const id of [...this.#calls.keys()]) this.#take(id)?.reject(error);
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

/**
 * @param {number} id
 * @param {Pick<Call, 'what' | 'argument' | 't'>} call
 * @param {(t: number) => number} toBrokerTime
 */
const toMessage = (id, { what, argument, t }, toBrokerTime) => [
  '?',
  id,
  what,
  toBrokerTime(t),
  argument,
];

/**
 * @param {Record<string, unknown[]>} parts
 * @param {any} value
 */
function joined(parts, value) {
  for (const [key, items] of Object.entries(parts)) {
    if (key === '') return items.concat(value);
    value[key] = items.concat(value[key]);
  }
  return value;
}

module.exports = { BrokerCalls };
