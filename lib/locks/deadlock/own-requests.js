'use strict';

/** @typedef {import('./detector.js').WatchedRequest} WatchedRequest */

/**
 * An agent's requests that waited at some time of a look at the table, by their ids. An id is used
 * again once its request has ended: what the table shows may then be of the one or of the other.
 */
class OwnRequests {
  /** @type {Map<number, WatchedRequest | null>} null: several */
  #byId = new Map();
  /** Whether it was asked for one of several. */
  isUncertain = false;

  /** @param {WatchedRequest} request  that waits */
  note(request) {
    const { backendId } = request;
    const known = this.#byId.get(backendId);
    if (known !== request) this.#byId.set(backendId, known === undefined ? request : null);
  }

  /**
   * @param {number} id
   * @returns {WatchedRequest | null | undefined} null: it may be one of several; undefined: it
   *   waits in no callback
   */
  find(id) {
    const request = this.#byId.get(id);
    if (request === null) this.isUncertain = true;
    return request;
  }
}

module.exports = { OwnRequests };
