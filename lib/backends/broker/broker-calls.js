'use strict';

/** @typedef {import('./link.js').Link} Link */
/** @typedef {import('../../loop-keep-alive.js').LoopKeepAlive} LoopKeepAlive */

/**
 * @typedef {object} Call
 * @property {string} what
 * @property {unknown[]} argument
 * @property {boolean} keepsAlive
 * @property {Record<string, unknown[]>} parts  of the lists of its answer, by key, so far
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
      const call = { what, argument, keepsAlive, parts: {}, resolve, reject };
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

  /** Another broker has started. It receives each watch before the calls that read its events. */
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
  #send(id, call) {
    const { what, argument } = call;
    call.parts = {}; // an earlier broker may have sent some
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
