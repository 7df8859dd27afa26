'use strict';

const { lazy } = require('../../lazy.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

const SyncHelper = lazy(() => require('./sync-helper.js').SyncHelper);

/** Questions to the broker for which the thread blocks. The first one starts the helper thread. */
class SyncCalls {
  #place;
  #state;
  /** @type {import('./sync-helper.js').SyncHelper | undefined} */
  #helper = undefined;

  /**
   * @param {BrokerFiles} place
   * @param {() => object} state  what to tell a broker that may not have heard all
   */
  constructor(place, state) {
    this.#place = place;
    this.#state = state;
  }

  /**
   * @param {import('./sync-helper.js').Question} question
   * @param {boolean} isFlushed  this thread's own connection has sent everything
   * @param {number} timeout  in ms, may be Infinity
   * @returns {{ isTimeout: boolean, value: any }}
   */
  ask(question, isFlushed, timeout) {
    if (this.#helper === undefined) {
      const { directory, bucket } = this.#place;
      const Helper = SyncHelper();
      this.#helper = new Helper({ directory, bucket });
    }
    return this.#helper.call(question, isFlushed, timeout, this.#state);
  }

  close() {
    this.#helper?.close();
    this.#helper = undefined;
  }
}

module.exports = { SyncCalls };
