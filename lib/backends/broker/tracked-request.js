'use strict';

const { machineNow } = require('./machine-clock.js');
const { IF_AVAILABLE, PATIENT, SHARED, STEAL, VIEW } = require('./wire.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LossReason */

/** @param {Request} request */
function flagsOf({ mode, ifAvailable, steal, isTimed }) {
  const ofStandard =
    (mode === 'shared' ? SHARED : 0) | (ifAvailable ? IF_AVAILABLE : 0) | (steal ? STEAL : 0);
  return isTimed === false ? ofStandard | PATIENT : ofStandard;
}

/** @param {Request} request */
function wireExtrasOf({ extras }) {
  if (extras === undefined) return null;
  const { limit, holdLimit, label, callSite, enclosing } = extras;
  return [limit, holdLimit, label, callSite, enclosing?.tokenHigh ?? 0, enclosing?.tokenLow ?? 0];
}

/** Of a request that the backend does not know any more. */
const NO_ID = -1;

/** A request that has not ended, as its client sees it. */
class TrackedRequest {
  /** @type {number} */
  view = VIEW.WAITING;
  /** The broker has said that it has to wait. */
  isQueued = false;
  /** @type {((loss: LossReason | undefined) => void) | undefined} of release() */
  onReleased = undefined;
  #flags;
  #wireExtras;
  #t = machineNow();
  /** When it was given back. */
  #releasedAt = 0;

  /**
   * @param {Request} request
   * @param {number} id
   */
  constructor(request, id) {
    this.request = request;
    this.id = id;
    this.#flags = flagsOf(request);
    this.#wireExtras = wireExtrasOf(request);
  }

  /**
   * @param {number} high
   * @param {number} low
   */
  grant(high, low) {
    this.view = VIEW.HELD;
    this.setToken(high, low);
  }

  startRelease() {
    this.view = VIEW.RELEASING;
    this.#releasedAt = machineNow();
    this.request.backendId = NO_ID;
  }

  /**
   * As it crosses.
   * @param {(t: number) => number} toBrokerTime
   */
  asked(toBrokerTime) {
    const { id, request } = this;
    return [id, request.name, this.#flags, toBrokerTime(this.#t), this.#wireExtras];
  }

  /**
   * With what is known of it, for a broker that may know less, or more.
   * @param {(t: number) => number} toBrokerTime
   */
  told(toBrokerTime) {
    const { view, request } = this;
    const at = toBrokerTime(view === VIEW.RELEASING ? this.#releasedAt : this.#t);
    return [view, this.asked(toBrokerTime), request.tokenHigh, request.tokenLow, at];
  }

  /**
   * @param {number} high
   * @param {number} low
   */
  setToken(high, low) {
    if (high === 0 && low === 0) return;
    this.request.tokenHigh = high;
    this.request.tokenLow = low;
  }
}

module.exports = { NO_ID, TrackedRequest };
