'use strict';

/**
 * A request in a queue, or a lock.
 * @typedef {object} Waited
 * @property {boolean} isQueued
 * @property {{ mode: 'exclusive' | 'shared', extras?: { limit?: number } }} request
 */

/**
 * Walks from a waiting request to the requests and locks ahead of it. The queue is strict, so the
 * request waits for everything that those wait for. The same rule as in src/core/self_deadlock.cc.
 */
class WaitPath {
  #hasExclusive = false;
  #ownShared = 0;
  #minLimit = Infinity;

  /** @param {Waited} request  that waits */
  constructor(request) {
    this.#pass(request);
  }

  /**
   * @param {Waited} before
   * @param {boolean} isOwn  it belongs to the thread
   * @returns {boolean} whether it belongs to the thread, and the requests met so far wait for its
   *   end
   */
  isStoppedBy(before, isOwn) {
    if (isOwn) {
      if (before.request.mode === 'exclusive' || this.#hasExclusive) return true;
      this.#ownShared += 1;
      if (this.#ownShared >= this.#minLimit) return true;
    }
    this.#pass(before);
    return false;
  }

  /** @param {Waited} waited */
  #pass({ isQueued, request: { mode, extras } }) {
    const limit = extras?.limit ?? 0;
    if (mode === 'exclusive') this.#hasExclusive = true;
    else if (limit !== 0 && isQueued) this.#minLimit = Math.min(this.#minLimit, limit);
  }
}

module.exports = { WaitPath };
