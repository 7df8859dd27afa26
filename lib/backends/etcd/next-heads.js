'use strict';

/** @typedef {import('./queue-state.js').Waiter} Waiter */

/**
 * The next requests after the exclusive holder, as far as they are known.
 * @typedef {object} Expected
 * @property {Waiter[]} heads  the first of the queue, without a gap: true, or outdated
 * @property {string | undefined} knownAt  a revision at which there were no others
 */

/** @type {Expected} */
const NOTHING = { heads: [], knownAt: undefined };

/** The requests that follow the exclusive holder. */
class NextHeads {
  #expected = NOTHING;
  /** @type {Promise<void> | undefined} */
  #fetching;

  /** @param {Expected} expected */
  expect(expected) {
    this.#expected = expected;
  }

  /**
   * Reads them while the lock is held.
   * @param {import('./name-access.js').NameAccess} access
   */
  fetch(access) {
    const end = (/** @type {Expected} */ expected) => {
      this.#expected = expected;
      this.#fetching = undefined;
    };
    this.#fetching = access.readFront().then(
      (front) => end(toExpected(front, front.revision)),
      () => end(NOTHING), // the release finds out
    );
  }

  /** @returns {Promise<Expected>} */
  async take() {
    if (this.#fetching !== undefined) await this.#fetching;
    const expected = this.#expected;
    this.#expected = NOTHING;
    return expected;
  }
}

/**
 * @param {import('./queue-state.js').Front} front
 * @param {string} revision  at which it was read
 * @returns {Expected}
 */
const toExpected = ({ heads, isComplete }, revision) => ({
  heads,
  knownAt: isComplete ? revision : undefined,
});

module.exports = { NOTHING, NextHeads, toExpected };
