'use strict';

/** @typedef {import('./queue-state.js').Waiter} Waiter */

/** The next requests after the exclusive holder, as far as they are known. */
class NextHeads {
  /** @type {Waiter[]} */
  #heads = [];
  /** @type {Promise<void> | undefined} */
  #fetching;

  /** @param {Waiter[]} heads */
  expect(heads) {
    this.#heads = heads;
  }

  /**
   * Reads them while the lock is held.
   * @param {import('./name-access.js').NameAccess} access
   */
  fetch(access) {
    const end = (/** @type {Waiter[]} */ heads) => {
      this.#heads = heads;
      this.#fetching = undefined;
    };
    this.#fetching = access.readState().then(
      ({ heads }) => end(heads),
      () => end([]), // the release finds out
    );
  }

  /** @returns {Promise<Waiter[]>} */
  async take() {
    await this.#fetching;
    const heads = this.#heads;
    this.#heads = [];
    return heads;
  }
}

module.exports = { NextHeads };
