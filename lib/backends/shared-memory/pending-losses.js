'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** What requests have still to hear when the native part knows nothing of them any more. */
class PendingLosses {
  /** @type {Map<Request, { loss: LockLossReason, tell: (() => void) | undefined }>} */
  #words = new Map();

  /**
   * @param {Request} request
   * @param {LockLossReason} loss  for who asks first
   * @param {() => void} [tell]  for flush(); without it nobody is told who does not ask
   */
  add(request, loss, tell = undefined) {
    this.#words.set(request, { loss, tell });
  }

  /**
   * @param {Request} request
   * @returns {LockLossReason | undefined} undefined when there is nothing to say
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
