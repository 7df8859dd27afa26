'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A held lock, or a pending request, in a graph of who waits for whom. */
class WaitNode {
  isStuck = true;
  /** @type {WaitNode[]} of a held lock: all that it waits for */
  waitsFor = [];
  /** @type {WaitNode[]} held locks */
  waitedForBy = [];
  /** How many of those that it waits for are stuck. */
  missing = 0;

  /**
   * @param {LockDetail} detail
   * @param {Resource} resource
   */
  constructor(detail, resource) {
    this.detail = detail;
    this.resource = resource;
  }

  get isHolder() {
    return this.detail.token !== null;
  }

  /** @param {WaitNode} node */
  waitFor(node) {
    this.waitsFor.push(node);
    this.missing += 1;
    node.waitedForBy.push(this);
  }

  /** @returns {(WaitNode | Resource)[]} what keeps it from going on */
  next() {
    return this.isHolder ? this.waitsFor.filter(({ isStuck }) => isStuck) : [this.resource];
  }
}

/** A name: who holds it, and its queue. */
class Resource {
  /** @type {WaitNode[]} */
  #holders = [];
  /** @type {WaitNode[]} in order */
  queue = [];
  /** How many of the queue would be granted. */
  #granted = 0;
  #shared = 0;
  #exclusive = 0;
  #knowsQueue;

  /** @param {boolean} [knowsQueue]  or else: who may be first in it is not known */
  constructor(knowsQueue = true) {
    this.#knowsQueue = knowsQueue;
  }

  /** @param {WaitNode} holder */
  addHolder(holder) {
    this.#holders.push(holder);
    this.#count(holder, 1);
  }

  /** @param {WaitNode} holder  that can end */
  removeHolder(holder) {
    this.#count(holder, -1);
  }

  /**
   * @param {WaitNode} holder
   * @param {number} change
   */
  #count({ detail }, change) {
    if (detail.mode === 'exclusive') this.#exclusive += change;
    else this.#shared += change;
  }

  /**
   * The next of the queue that could be granted beside the holders that are stuck, and would end:
   * the queue is strict.
   */
  *takeGrantable() {
    while (this.#granted < this.queue.length && this.#isGrantable(this.queue[this.#granted])) {
      yield this.queue[this.#granted];
      this.#granted += 1;
    }
  }

  /**
   * Standard: Web Locks, "grantable" (#concept-lock-request), with the limits that go beyond it.
   * @param {WaitNode} request
   */
  #isGrantable({ detail: { mode, limit } }) {
    if (!this.#knowsQueue || mode === 'exclusive') return this.#exclusive + this.#shared === 0;
    return this.#exclusive === 0 && (limit === 0 || this.#shared < limit);
  }

  /** @returns {WaitNode[]} who keeps it from being granted */
  next() {
    return this.#holders.filter(({ isStuck }) => isStuck);
  }
}

module.exports = { Resource, WaitNode };
