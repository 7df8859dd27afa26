'use strict';

const { invalidStateError } = require('../../errors.js');
const { clearInterval, setInterval } = require('../../time.js');
const { machineNow } = require('./machine-clock.js');

/** @typedef {import('./link.js').Link} Link */
/** @typedef {import('../../loop-keep-alive.js').LoopKeepAlive} LoopKeepAlive */

/**
 * @typedef {object} Call
 * @property {string} what
 * @property {unknown[]} argument
 * @property {number} t  when it was made, by the clock of this process
 * @property {boolean} isAwaited
 * @property {number} checks  of a silent broker, since it was made
 * @property {Record<string, unknown[]>} parts  of the lists of its answer, by key, so far
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** How long a program waits for the answer to a call that a living broker answers. */
const MAX_ANSWER_MS = 10_000;
const SILENT = 'the broker has not answered: is it stopped?';
const silenceError = () => invalidStateError(`For ${MAX_ANSWER_MS} ms ${SILENT}`);

/**
 * How often it is checked whether the broker is silent. A thread that is stopped or busy makes no
 * checks, so that time does not count.
 */
const CHECK_MS = 1000;
const MAX_CHECKS = MAX_ANSWER_MS / CHECK_MS;
/** A broker that takes over reads a journal before it greets its clients. */
const MAX_CHECKS_OF_GREETING = 30;

/** Calls that the broker has still to answer; each further broker receives them again. */
class BrokerCalls {
  /** @type {Map<number, Call>} */
  #calls = new Map();
  #lastCall = 0;
  /** @type {NodeJS.Timeout | undefined} while the program awaits an answer */
  #timer = undefined;
  /** The broker has sent something since the last check. */
  #hasAnswered = false;
  /** How much the kernel had taken when it took no more. */
  #sentWhenFull = Infinity;
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
   * @param {boolean} [isAwaited]  by the program: it keeps the event loop alive, and rejects with
   *   an InvalidStateError if the broker is silent
   * @param {number} [t]  when it was made, if not now
   * @returns {Promise<any>}
   */
  ask(what, argument, isAwaited = true, t = machineNow()) {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1;
      const call = { what, argument, t, isAwaited, checks: 0, parts: {}, resolve, reject };
      this.#calls.set(this.#lastCall, call);
      if (isAwaited) {
        this.#keepAlive.ref();
        this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
      }
      this.#link.send(toMessage(this.#lastCall, call, (at) => this.#link.toBrokerTime(at)));
    });
  }

  /** A message has come from the broker, whatever it is about. */
  noteAnswer() {
    this.#hasAnswered = true;
  }

  /**
   * A broker that sends nothing may be reading what clients have sent: then it is not silent.
   * Without a connection, the search for a broker has a bound.
   */
  #check() {
    const { isConnected, isOpen, sentBytes, unsentBytes } = this.#link;
    const isSilent = isConnected && !this.#hasAnswered && !(sentBytes > this.#sentWhenFull);
    this.#hasAnswered = false;
    this.#sentWhenFull = unsentBytes > 0 ? sentBytes : Infinity;
    const maxChecks = isOpen ? MAX_CHECKS : MAX_CHECKS_OF_GREETING;
    const calls = [...this.#calls].filter(([, { isAwaited }]) => isAwaited);
    for (const [id, call] of calls) {
      call.checks = isSilent ? call.checks + 1 : 0;
      if (call.checks > maxChecks) this.#take(id)?.reject(silenceError());
    }
    if (calls.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
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
      call.checks = 0;
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
    if (call.isAwaited) this.#keepAlive.unref();
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

module.exports = { BrokerCalls, MAX_ANSWER_MS, SILENT, silenceError };
