'use strict';

const { invalidStateError } = require('../../errors.js');
const { lazy } = require('../../lazy.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

const SyncHelper = lazy(() => require('./sync-helper.js').SyncHelper);

/**
 * The callback has run, so this replaces its result. It is no loss: the lock may well have been
 * held until now, and the next waiter gets it when the client's own connection is read.
 * @param {string} name
 * @param {Error} cause
 */
const unconfirmedRelease = (name, { message }) =>
  invalidStateError(
    `The callback has run and the lock '${name}' is being given back, but it is not known ` +
      `whether it was held until then: ${message}`,
  );

/**
 * @typedef {object} BlockedClient  whose thread asks
 * @property {() => void} connect
 * @property {() => boolean} isFlushed  its own connection has sent everything
 * @property {() => object} state  for a broker that may not have received all of it
 */

/** Questions to the broker for which the thread blocks. The first one starts the helper thread. */
class SyncCalls {
  #place;
  #client;
  /** @type {import('./sync-helper.js').SyncHelper | undefined} */
  #helper = undefined;

  /**
   * @param {BrokerFiles} place
   * @param {BlockedClient} client
   */
  constructor(place, client) {
    this.#place = place;
    this.#client = client;
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @param {number} [timeout]  in ms
   * @returns {{ isTimeout: boolean, value: any }}
   * @throws DOMException when there is no broker to be had, and what the start of a thread throws
   */
  ask(what, argument, timeout = Infinity) {
    const client = this.#client;
    client.connect();
    if (this.#helper === undefined || this.#helper.isOver) {
      const { directory, bucket } = this.#place;
      const Helper = SyncHelper();
      this.#helper = new Helper({ directory, bucket });
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
  tell(what, argument, timeout) {
    try {
      this.ask(what, argument, timeout);
    } catch {
      // The caller also sends the message by the client's own connection.
    }
  }

  close() {
    this.#helper?.close();
    this.#helper = undefined;
  }
}

module.exports = { SyncCalls, unconfirmedRelease };
