'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** A request that was made, until its end has taken effect. */
class Entry {
  /** The cluster has answered that it waits. */
  isAnswered = false;
  isHeld = false;
  /** @type {((loss: LockLossReason | undefined) => void) | undefined} it is being ended */
  onEnded = undefined;

  /**
   * @param {number} number
   * @param {Request} request
   */
  constructor(number, request) {
    this.number = number;
    this.request = request;
  }
}

module.exports = { Entry };
