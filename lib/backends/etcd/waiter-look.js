'use strict';

const { clearTimeout, setTimeout } = require('../../time.js');
const { findBlocker } = require('./blocker.js');
const { WAITING } = require('./etcd-request.js');
const { LOOK_AFTER_MS } = require('./wait-pace.js');

/** Between two tries where the cluster has no room for a grant, on average. */
const NO_ROOM_MS = 1_000;

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */

/**
 * The oldest waiter of a session reads its blocker and watches for its end: the session that should
 * serve the waiter may have died (E6).
 */
class WaiterLook {
  #access;
  #lookAfter;
  #first;
  #step;
  #grant;
  #reread;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {{ cancel: () => void } | undefined} */
  #watch;

  /**
   * @param {NameAccess} access
   * @param {object} waiter
   * @param {() => EtcdRequest | undefined} waiter.first  the oldest
   * @param {() => number} waiter.lookAfter  so long after it has become that, in ms
   * @param {(request: EtcdRequest) => Promise<boolean>} waiter.grant
   * @param {(request: EtcdRequest) => Promise<void>} waiter.reread  where it stands
   * @param {(step: () => Promise<void>) => void} step  does it in its turn
   */
  constructor(access, { first, lookAfter, grant, reread }, step) {
    this.#access = access;
    this.#lookAfter = lookAfter;
    this.#first = first;
    this.#step = step;
    this.#grant = grant;
    this.#reread = reread;
  }

  /** @param {number} [delayMs] */
  schedule(delayMs = this.#lookAfter()) {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#first() === undefined) return;
    this.#timer = setTimeout(() => this.#step(() => this.#look()), delayMs);
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#cancelWatch();
  }

  #cancelWatch() {
    this.#watch?.cancel();
    this.#watch = undefined;
  }

  /**
   * @param {EtcdRequest} request
   * @returns {Promise<boolean>} false: it is gone
   */
  async #grantIfRoom(request) {
    try {
      return await this.#grant(request);
    } catch (error) {
      if (!(/** @type {import('./etcd-errors.js').EtcdError} */ (error).isForSpace)) throw error;
      await this.#reread(request); // it may have been granted in spite of the error
      this.schedule(NO_ROOM_MS * (0.5 + Math.random()));
      return true;
    }
  }

  async #look() {
    this.#cancelWatch();
    const request = this.#first();
    if (request === undefined) return;
    const blocker = await findBlocker(this.#access, request);
    if (request.phase !== WAITING) return;
    if (blocker === undefined && (await this.#grantIfRoom(request))) return;
    // It has the lock by a change that was in doubt, which this session had not seen.
    if (blocker === undefined || blocker.key === this.#access.changes.heldKey(request)) {
      await this.#reread(request);
      this.schedule();
      return;
    }
    const { isAhead, ...watched } = blocker;
    this.#watch = this.#access.session.watches.add({
      ...watched,
      only: 'removals',
      // A request that was ahead has most likely been granted the lock, and will hand it over.
      onEvents: () => this.schedule(isAhead ? LOOK_AFTER_MS : 0),
      onGap: () => this.schedule(0),
    });
  }
}

module.exports = { WaiterLook };
