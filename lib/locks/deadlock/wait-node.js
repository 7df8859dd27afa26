'use strict';

const { isGrantable } = require('../../backends/grantable.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A held lock or a pending request in the wait-for graph. */
class WaitNode {
  isStuck = true;
  /** @type {WaitNode[]} of a held lock: the nodes that it waits for */
  waitsFor = [];
  /** @type {WaitNode[]} held locks */
  waitedForBy = [];
  /** How many of the nodes that it waits for are stuck. */
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

  /** @returns {(WaitNode | Resource)[]} the nodes that block it */
  next() {
    return this.isHolder ? this.waitsFor.filter(({ isStuck }) => isStuck) : [this.resource];
  }
}

/** A resource name with its holders and its queue. */
class Resource {
  /** @type {WaitNode[]} */
  #holders = [];
  /** @type {WaitNode[]} in order */
  queue = [];
  /** How many requests of the queue would be granted. */
  #granted = 0;
  #shared = 0;
  #exclusive = 0;
  #knowsQueue;

  /** @param {boolean} [knowsQueue]  false: the order of the queue is not known */
  constructor(knowsQueue = true) {
    this.#knowsQueue = knowsQueue;
  }

  /** @param {WaitNode} holder */
  addHolder(holder) {
    this.#holders.push(holder);
    this.#count(holder, 1);
  }

  /** @param {WaitNode} holder  that can continue to its release */
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
   * Counts the requests at the front of the strict queue that could be granted beside the stuck
   * holders, and would end.
   */
  *takeGrantable() {
    while (this.#granted < this.queue.length && this.#isGrantable(this.queue[this.#granted])) {
      yield this.queue[this.#granted];
      this.#granted += 1;
    }
  }

  /**
   * Without the queue a request waits for every holder, so that no stuck one is overlooked.
   * @param {WaitNode} request
   */
  #isGrantable({ detail: { mode, limit } }) {
    const waitsForAll = mode === 'exclusive' || !this.#knowsQueue;
    return isGrantable(waitsForAll ? 'exclusive' : mode, limit, this.#exclusive, this.#shared);
  }

  /** @returns {WaitNode[]} the nodes that keep it from being granted */
  next() {
    return this.#holders.filter(({ isStuck }) => isStuck);
  }
}

module.exports = { Resource, WaitNode };
