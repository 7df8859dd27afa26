'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** Losses not yet delivered, of requests that the native part has already forgotten. */
class PendingLosses {
  /** @type {Map<Request, { loss: LockLossReason, tell: (() => void) | undefined }>} */
  #words = new Map();

  /**
   * @param {Request} request
   * @param {LockLossReason} loss  the answer to take()
   * @param {() => void} [tell]  called by flush(); without it only take() delivers the loss
   */
  add(request, loss, tell = undefined) {
    this.#words.set(request, { loss, tell });
  }

  /**
   * @param {Request} request
   * @returns {LockLossReason | undefined} undefined when no loss is pending
   */
  take(request) {
    const words = this.#words.get(request);
    this.#words.delete(request);
    return words?.loss;
  }

  flush() {
    for (const [request, { tell }] of this.#words) {
      if (tell === undefined) continue;
      this.#words.delete(request);
      tell();
    }
  }
}

module.exports = { PendingLosses };
