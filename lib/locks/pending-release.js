'use strict';

const { lazy } = require('../lazy.js');
const { apply, then } = require('../time.js');
const { isPending } = require('./later-answer.js');

/** @typedef {import('./call-chain.js').NestedLink} NestedLink */
/** @typedef {import('./lock-request.js').LockRequest} LockRequest */

const LocalBackend = lazy(() => require('../backends/local/backend.js').LocalBackend);

/** Open; the callback's outcome is known; the promise is settled. */
const OPEN = 0;
const CONCLUDED = 1;
const OVER = 2;

/**
 * Keeps a lock after its callback has returned: for the returned promise, for a caller that will
 * release it, or for reentrant requests inside it.
 *
 * It is a thenable. The released promise resolves with it and calls its then() in a microtask; from
 * then on the promise can be settled, also by a loss.
 */
class PendingRelease {
  #request;
  #state = OPEN;
  #isFulfilled = false;
  /** @type {unknown} */
  #outcome = undefined;
  /** @type {Set<NestedLink> | undefined} reentrant requests inside; undefined until the first */
  #nested = undefined;
  /** @type {import('../../types/backend.d.ts').LockBackend | undefined} their queue */
  #nestedBackend = undefined;
  /**
   * @type {Promise<void> | undefined} settles when a backend that answers later has released the
   * lock
   */
  ending = undefined;
  /**
   * @type {((value: unknown) => void) | undefined} these two functions settle the released promise
   */
  #resolve = undefined;
  /** @type {((reason: unknown) => void) | undefined} */
  #reject = undefined;

  /** @param {LockRequest} request  whose callback runs */
  constructor(request) {
    this.#request = request;
  }

  /**
   * @param {(value: unknown) => void} resolve
   * @param {(reason: unknown) => void} reject
   */
  then(resolve, reject) {
    this.#resolve = resolve;
    this.#reject = reject;
    const { loss } = this.#request;
    if (loss !== undefined) reject(loss);
    else if (this.#state === OVER) this.#settle();
  }

  /** @param {object} waitingPromise  what the callback returned */
  waitFor(waitingPromise) {
    Promise.resolve(waitingPromise).then(
      (value) => void this.conclude(true, value), // void: this is a thenable
      (reason) => void this.conclude(false, reason),
    );
    return this;
  }

  /**
   * Releases the lock, once no reentrant request is inside.
   * @param {boolean} isFulfilled
   * @param {unknown} outcome  a value, or a reason
   */
  conclude(isFulfilled, outcome) {
    this.#isFulfilled = isFulfilled;
    this.#outcome = outcome;
    this.#state = CONCLUDED;
    if (!this.#hasNested) this.#end();
    return this;
  }

  /** Whether the callback's outcome is still unknown. */
  get isOpen() {
    return this.#state === OPEN;
  }

  get #hasNested() {
    return this.#nested !== undefined && this.#nested.size > 0;
  }

  /** A separate lock table, in which the reentrant requests exclude each other. */
  get nestedBackend() {
    if (this.#nestedBackend === undefined) this.#nestedBackend = new (LocalBackend())();
    return this.#nestedBackend;
  }

  /** @param {NestedLink} request */
  enterNested(request) {
    this.#nested ??= new Set();
    this.#nested.add(request);
  }

  /** @param {NestedLink} request */
  leaveNested(request) {
    this.#nested?.delete(request);
    if (!this.#hasNested && this.#state === CONCLUDED) this.#end();
  }

  #end() {
    const loss = this.#request.end(this.#isFulfilled ? undefined : this.#outcome);
    if (isPending(loss)) {
      const conclude = (/** @type {unknown} */ late) => this.#concludeEnd(late);
      this.ending = apply(then, loss, [conclude]);
    } else this.#concludeEnd(loss);
  }

  /** @param {unknown} loss */
  #concludeEnd(loss) {
    this.#state = OVER;
    this.ending = undefined; // its async context keeps an enclosing request
    if (loss === undefined) this.#settle();
    else this.lose(loss);
  }

  /** @param {unknown} error */
  lose(error) {
    this.#isFulfilled = false;
    this.#outcome = error;
    this.#state = OVER;
    if (this.#nested !== undefined) {
      for (const request of this.#nested) request.coverLost(/** @type {any} */ (error));
    }
    this.#settle();
  }

  /**
   * Drops all references: from Node 24 on the async context of later work keeps this object alive.
   */
  #settle() {
    if (this.#resolve === undefined) return;
    if (this.#isFulfilled) this.#resolve(this.#outcome);
    else this.#reject?.(this.#outcome);
    this.#outcome = this.#resolve = this.#reject = undefined;
  }
}

module.exports = { PendingRelease };
