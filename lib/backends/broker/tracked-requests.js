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
  /** When it was released. */
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
  fields(toBrokerTime) {
    const { id, request } = this;
    return [id, request.name, this.#flags, toBrokerTime(this.#t), this.#wireExtras];
  }

  /**
   * With what is known of it, for a broker that may know less, or more.
   * @param {(t: number) => number} toBrokerTime
   */
  stateFor(toBrokerTime) {
    const { view, request } = this;
    const at = toBrokerTime(view === VIEW.RELEASING ? this.#releasedAt : this.#t);
    return [view, this.fields(toBrokerTime), request.tokenHigh, request.tokenLow, at];
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

/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../loop-keep-alive.js').LoopKeepAlive} LoopKeepAlive */

/**
 * The requests of one agent that have not ended, as their client sees them. They keep the event
 * loop alive while they wait for a word of the broker.
 */
class TrackedRequests {
  /** @type {Map<number, TrackedRequest>} in the order of their numbers */
  #byId = new Map();
  #lastId = 0;
  #keepAlive;
  #onLossReceived;
  #onChange;

  /**
   * @param {LoopKeepAlive} keepAlive
   * @param {(id: number) => void} onLossReceived  the broker need not keep it any longer
   * @param {() => void} onChange  of the size
   */
  constructor(keepAlive, onLossReceived, onChange) {
    this.#onChange = onChange;
    this.#keepAlive = keepAlive;
    this.#onLossReceived = onLossReceived;
  }

  get size() {
    return this.#byId.size;
  }

  /** The highest number so far. */
  get lastId() {
    return this.#lastId;
  }

  values() {
    return this.#byId.values();
  }

  /** @param {Request} request  that waits from now on */
  add(request) {
    this.#lastId += 1;
    const tracked = new TrackedRequest(request, this.#lastId);
    this.#byId.set(this.#lastId, tracked);
    request.backendId = this.#lastId;
    this.#keepAlive.ref();
    this.#onChange();
    return tracked;
  }

  /** @param {Request} request */
  of(request) {
    return this.#byId.get(request.backendId);
  }

  /**
   * @param {TrackedRequest} tracked  that waits
   * @param {number} high
   * @param {number} low
   */
  grant(tracked, high, low) {
    tracked.grant(high, low);
    this.#keepAlive.unref();
  }

  /** @param {TrackedRequest} tracked */
  startRelease(tracked) {
    if (tracked.view === VIEW.HELD) this.#keepAlive.ref();
    tracked.startRelease();
  }

  /** @param {TrackedRequest} tracked  that has ended */
  forget(tracked) {
    if (!this.#byId.delete(tracked.id)) return;
    if (tracked.view !== VIEW.HELD) this.#keepAlive.unref();
    tracked.request.backendId = NO_ID;
    this.#onChange();
  }

  /** @param {any[]} message  of the broker, about a request */
  receive([kind, id, ...rest]) {
    const tracked = this.#byId.get(id);
    if (tracked === undefined) return;
    if (kind === 'w') tracked.isQueued = true;
    else if (kind === 'g') this.#onGranted(tracked, rest);
    else if (kind === 'l') this.#onLost(tracked, rest);
    else if (kind === 'd') this.#onReleased(tracked, rest[0] ?? undefined);
    else if (tracked.view === VIEW.WAITING) this.#onRefused(tracked, kind, rest);
  }

  /**
   * @param {TrackedRequest} tracked
   * @param {any[]} token
   */
  #onGranted(tracked, [high, low]) {
    if (tracked.view !== VIEW.WAITING) return; // received before
    this.grant(tracked, high, low);
    tracked.request.granted();
  }

  /**
   * @param {TrackedRequest} tracked
   * @param {any[]} loss
   */
  #onLost(tracked, [reason, high, low]) {
    if (tracked.view === VIEW.RELEASING) return this.#onReleased(tracked, reason);
    tracked.setToken(high, low);
    this.forget(tracked);
    this.#onLossReceived(tracked.id);
    tracked.request.lost(reason);
  }

  /**
   * @param {TrackedRequest} tracked
   * @param {LockLossReason | undefined} reason
   */
  #onReleased(tracked, reason) {
    if (tracked.view !== VIEW.RELEASING) return;
    this.forget(tracked);
    if (reason !== undefined) this.#onLossReceived(tracked.id);
    tracked.onReleased?.(reason);
  }

  /**
   * @param {TrackedRequest} tracked
   * @param {string} kind
   * @param {any[]} error
   */
  #onRefused(tracked, kind, [name, message]) {
    this.forget(tracked);
    if (kind === 'm') tracked.request.missed();
    else tracked.request.failed(new DOMException(message, name));
  }

  /**
   * No broker has a say in them any more.
   * @param {() => DOMException} makeError  for those that wait
   * @param {LockLossReason | undefined} lossOfReleasing
   * @param {string} because  for those that hold a lock
   */
  dropAll(makeError, lossOfReleasing, because) {
    for (const tracked of [...this.#byId.values()]) {
      const { view, request } = tracked;
      this.forget(tracked);
      if (view === VIEW.WAITING) request.failed(makeError());
      else if (view === VIEW.HELD) request.lost('disconnected', because);
      else tracked.onReleased?.(lossOfReleasing);
    }
  }
}

module.exports = { TrackedRequest, TrackedRequests };
