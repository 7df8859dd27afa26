'use strict';

const { isWithin } = require('../enclosing-word.js');

/** @typedef {import('./detector.js').WatchedRequest} WatchedRequest */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * An agent's requests that waited inside a callback at some time of a look at the table, by their
 * ids. An id is used again once its request has ended: what the table shows may then be of the one
 * or of the other.
 */
class OwnRequests {
  /** @type {Map<number, WatchedRequest | null>} null: several */
  #byId = new Map();
  #clientId;
  /** Whether it was asked for one of several. */
  isUncertain = false;

  /** @param {string} clientId */
  constructor(clientId) {
    this.#clientId = clientId;
  }

  /** @param {WatchedRequest} request  that waits */
  note(request) {
    const { backendId } = request;
    const known = this.#byId.get(backendId);
    if (known !== request) this.#byId.set(backendId, known === undefined ? request : null);
  }

  /**
   * @param {LockDetail} detail
   * @returns {WatchedRequest | null | undefined} null: it may be one of several; undefined: none of
   *   them
   */
  find({ clientId, requestId }) {
    const request = clientId === this.#clientId ? this.#byId.get(requestId) : undefined;
    if (request === null) this.isUncertain = true;
    return request;
  }

  /**
   * A request of another agent counts as awaited, because this agent cannot know.
   * @param {number} least  the least await state that counts
   * @param {boolean} [ifUncertain]  whether one counts that is not known
   * @returns {import('./wait-graph.js').IsAwaited}
   */
  awaitedBy(least, ifUncertain = false) {
    return (detail) => {
      const request = this.find(detail);
      if (request === undefined) return true;
      if (request === null) return ifUncertain;
      return request.isNestedWait && request.awaitState >= least && isStillInside(request);
    };
  }

  /**
   * Once one of a cycle has ended, the others may go on. One that was certain when the cycle was
   * found and is not any more has ended, too.
   * @param {LockDetail[]} cycle
   */
  hasOneEnded(cycle) {
    return cycle.some((detail) => {
      const request = this.find(detail);
      return request === null || request?.isNestedWait === false;
    });
  }
}

/**
 * Whether the callback that a request was made in has ended. Its lock does not wait for it any
 * more: it may wait for a deadlock, but is in none, and gives way in none (WaitGraph.isAwaited).
 * @param {WatchedRequest} request
 */
function hasLeft(request) {
  const { outer, extras } = request;
  return outer !== undefined && !isStillInside(request) && isWithin(extras?.enclosing, outer);
}

/**
 * Whether the lock that a request was made in can wait for it. A reentrant request has the lock of
 * the one that covers it, which may go on.
 * @param {WatchedRequest} request
 */
function isStillInside({ outer }) {
  if (outer === undefined) return true;
  let link = /** @type {typeof outer | undefined} */ (outer);
  while (link !== undefined && !link.isEnclosing && isSameLock(link, outer)) link = link.outer;
  return link !== undefined && link.isEnclosing && isSameLock(link, outer);
}

/** @typedef {{ tokenHigh: number, tokenLow: number }} Token  each half signed or not */

/** @param {Token} a  @param {Token} b */
const isSameLock = (a, b) =>
  (a.tokenHigh | 0) === (b.tokenHigh | 0) && (a.tokenLow | 0) === (b.tokenLow | 0);

module.exports = { OwnRequests, hasLeft };
