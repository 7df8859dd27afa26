'use strict';

const { clearTimeout, performance } = require('../../time.js');
const { HELD, NEW, OVER, WAITING } = require('./etcd-request.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./etcd-request.js').RequestHost} RequestHost */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {'timedout' | 'expired' | undefined} Why  a request ends */

/** The requests of one session for one name, and the reports about them to their agent. */
class NameRequests {
  #host;
  #ids;
  /** @type {Set<EtcdRequest>} in the queue, oldest first */
  #waiting = new Set();
  /** @type {Set<EtcdRequest>} */
  #held = new Set();

  /**
   * @param {RequestHost} host
   * @param {import('./request-ids.js').RequestIds} ids
   */
  constructor(host, ids) {
    this.#host = host;
    this.#ids = ids;
  }

  get isHeld() {
    return this.#held.size > 0;
  }

  get isEmpty() {
    return this.#waiting.size + this.#held.size === 0;
  }

  /** @returns {EtcdRequest | undefined} the oldest that waits */
  get first() {
    return this.#waiting.values().next().value;
  }

  /** @returns {EtcdRequest | undefined} that holds the lock for itself */
  get holder() {
    const [held] = this.#held;
    return held?.class === 'x' ? held : undefined;
  }

  get all() {
    return [...this.#waiting, ...this.#held];
  }

  /** @param {string} id */
  findWaiting(id) {
    for (const request of this.#waiting) if (request.id === id) return request;
    return undefined;
  }

  /**
   * @param {EtcdRequest[]} requests  have their places in the queue
   * @param {string} revision
   */
  wait(requests, revision) {
    for (const request of requests) {
      if (request.phase !== NEW) continue; // its mail was faster
      request.phase = WAITING;
      request.created = revision;
      request.waitsFrom = performance.now();
      this.#waiting.add(request);
    }
    for (const request of requests) this.#host.onQueued(request);
  }

  /**
   * Grants it: its agent has to be notified.
   * @param {EtcdRequest} request
   * @param {string} revision
   */
  hold(request, revision) {
    if (this.#waiting.delete(request)) this.#host.onWaited(performance.now() - request.waitsFrom);
    this.#held.add(request);
    request.hold(revision);
  }

  /** @param {EtcdRequest} request  waiting, that has left the queue */
  leave(request) {
    this.#ids.giveBack(request);
    this.#waiting.delete(request);
    request.phase = OVER;
  }

  /** It is to be erased: its id is still in use. @param {EtcdRequest} request */
  lose(request) {
    if (request.phase === OVER) return;
    const wasTold = request.phase === HELD;
    this.#forget(request);
    request.loss = 'stolen';
    if (request.isEnding) return this.#host.onEnded(request); // before the stealer's grant
    if (!wasTold) this.#host.onGranted(request);
    this.#host.onLost(request, 'stolen');
  }

  /**
   * A steal by this session, which has removed them: the mail to its victims may come later.
   * @param {string} token
   */
  loseTo(token) {
    for (const held of this.#held) {
      if (BigInt(held.token) >= BigInt(token)) continue;
      this.#ids.giveBack(held);
      this.lose(held);
    }
  }

  /** @param {EtcdRequest} request */
  miss(request) {
    this.#ids.giveBack(request);
    request.phase = OVER;
    if (!request.isEnding) this.#host.onMissed(request);
  }

  /**
   * Perhaps the cluster has something of it.
   * @param {EtcdRequest} request
   * @param {unknown} error
   */
  fail(request, error) {
    this.#ids.retire(request);
    request.phase = OVER;
    if (!request.isEnding) this.#host.onFailed(request, error);
  }

  /**
   * It has been released, or waits no more.
   * @param {EtcdRequest} request
   * @param {Why} why
   * @param {LockLossReason | undefined} loss  found at its release
   */
  finish(request, why, loss) {
    if (request.phase === OVER && request.loss === 'stolen') return; // lose() has ended it
    // A request that is over has returned its id before, or is to be erased.
    if (request.phase !== OVER) this.#ids.giveBack(request);
    if (request.phase === HELD) request.loss = loss ?? (why === 'expired' ? why : undefined);
    this.#forget(request);
    if (why === 'expired' && !request.isEnding)
      this.#host.onLost(request, request.loss ?? 'expired');
    else this.#host.onEnded(request);
  }

  /** The session is over. */
  close() {
    for (const { holdTimer } of this.#held) clearTimeout(holdTimer);
  }

  /** @param {EtcdRequest} request */
  #forget(request) {
    this.#waiting.delete(request);
    this.#held.delete(request);
    clearTimeout(request.holdTimer);
    request.phase = OVER;
  }
}

module.exports = { NameRequests };
