'use strict';

const { invalidStateError } = require('../../errors.js');
const { performance } = require('../../time.js');
const { ThreadLink } = require('../remote/thread-link.js');

/** @typedef {{ what: string, argument: unknown[] }} Rpc */
/** @typedef {{ value?: any, isLost?: boolean, error?: string[] }} RpcAnswer */

const TITLE = 'The helper thread of requestSync()';

/**
 * A thread that speaks to the broker while this one is blocked. Its connection is a separate one
 * for the same session. Ends when this is collected.
 */
class SyncHelper {
  #link;
  #lastNumber = 0;
  /** @type {RpcAnswer | undefined} to the last call */
  #answer = undefined;
  /** @type {DOMException | undefined} it has ended */
  #failure = undefined;

  /**
   * @param {{ directory: string, bucket: string }} address
   * @param {number} [maxStartMs]
   */
  constructor(address, maxStartMs) {
    const program = /** @type {const} */ ({ file: 'sync-thread.js', title: TITLE });
    const onMessage = (/** @type {any} */ message) => this.#receive(message);
    this.#link = new ThreadLink(program, address, onMessage, maxStartMs);
  }

  /** It answers no more. */
  get isOver() {
    return this.#link.isOver || this.#link.state.hasEnded;
  }

  /**
   * @param {Rpc} rpc
   * @param {boolean} isFlushed  this thread's own connection has sent everything
   * @param {number} timeout  in ms, may be Infinity
   * @param {() => object} state  for a broker that may not have received all of it
   * @returns {{ isTimeout: boolean, value: any }}
   * @throws DOMException when there is no broker to be had, or the helper thread has failed
   */
  call(rpc, isFlushed, timeout, state) {
    const end = performance.now() + timeout;
    this.#link.block(Infinity, () => this.#link.state.hasStarted); // no silence of the broker
    let answer = this.#call(rpc, isFlushed ? undefined : state(), end);
    // The helper's connection, or its broker, has gone meanwhile: the next one gets the whole
    // state.
    while (answer?.isLost) answer = this.#call(rpc, state(), end);
    if (answer?.error !== undefined) throw new DOMException(answer.error[1], answer.error[0]);
    return { isTimeout: answer === undefined, value: answer?.value };
  }

  close() {
    this.#link.post({ type: 'close' });
  }

  /**
   * @param {Rpc} rpc
   * @param {object | undefined} state
   * @param {number} end
   * @returns {RpcAnswer | undefined} none in time
   */
  #call(rpc, state, end) {
    this.#lastNumber += 1;
    this.#answer = undefined;
    this.#link.post({ type: 'call', rpc: { number: this.#lastNumber, ...rpc, state } });
    this.#link.block(end - performance.now(), () => this.#answer !== undefined);
    if (this.#answer === undefined && this.#failure !== undefined) throw this.#failure;
    return this.#answer;
  }

  /** @param {any} message */
  #receive({ type, number, answer, error }) {
    if (type === 'over') this.#failure = invalidStateError(`${TITLE} has failed: ${error.message}`);
    else if (number === this.#lastNumber) this.#answer = answer;
  }
}

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The callback has run, so this replaces its result. The error is no loss: the lock may well have
 * been held until now. The next waiter gets the lock when the client's own connection is read.
 * @param {string} name
 * @param {Error} cause
 */
const unconfirmedRelease = (name, { message }) =>
  invalidStateError(
    `The callback has returned and the lock '${name}' is being released, but the lock may ` +
      `have been lost before: ${message}`,
  );

/**
 * @typedef {object} BlockedClient  whose thread asks
 * @property {() => void} connect
 * @property {() => boolean} isFlushed  its own connection has sent everything
 * @property {() => object} state  for a broker that may not have received all of it
 */

/** Questions to the broker for which the thread blocks. The first one starts the helper thread. */
class SyncCalls {
  #files;
  #client;
  /** @type {SyncHelper | undefined} */
  #helper = undefined;

  /**
   * @param {BrokerFiles} files
   * @param {BlockedClient} client
   */
  constructor(files, client) {
    this.#files = files;
    this.#client = client;
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @param {number} [timeout]  in ms
   * @returns {{ isTimeout: boolean, value: any }}
   * @throws DOMException when there is no broker to be had, and what the start of a thread throws
   */
  call(what, argument, timeout = Infinity) {
    const client = this.#client;
    client.connect();
    if (this.#helper === undefined || this.#helper.isOver) {
      const { directory, bucket } = this.#files;
      this.#helper = new SyncHelper({ directory, bucket });
    }
    const isFlushed = client.isFlushed();
    return this.#helper.call({ what, argument }, isFlushed, timeout, client.state);
  }

  /**
   * The same, if the thread continues whether the broker receives the message or not.
   * @param {string} what
   * @param {unknown[]} argument
   * @param {number} timeout
   */
  send(what, argument, timeout) {
    try {
      this.call(what, argument, timeout);
    } catch {
      // The caller also sends the message by the client's own connection.
    }
  }

  close() {
    this.#helper?.close();
    this.#helper = undefined;
  }
}

module.exports = { SyncHelper, SyncCalls, unconfirmedRelease };
