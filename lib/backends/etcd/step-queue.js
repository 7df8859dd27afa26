'use strict';

/** An etcd transaction has 128 operations at most, unless the cluster is configured otherwise. */
const MAX_BATCH = 100;
/** And 1.5 MiB; the rest is for what else is in it. */
const MAX_BYTES = 1_000_000;
/** How many steps that are done are kept: to remove each one separately would move all others. */
const MAX_DONE = 64;

/** @typedef {{ action: (items: any[]) => Promise<void>, items: any[] }} Step */

/** Runs steps one after the other. */
class StepQueue {
  /** @type {Step[]} */
  #steps = [];
  /** So many of them were begun. */
  #begun = 0;
  #isRunning = false;
  #onError;
  #onIdle;

  /**
   * @param {(error: unknown) => void} onError  a step has failed; the next one still runs
   * @param {() => void} onIdle  there are no more
   */
  constructor(onError, onIdle) {
    this.#onError = onError;
    this.#onIdle = onIdle;
  }

  /** @param {() => Promise<void>} action */
  add(action) {
    this.#add({ action, items: [] });
  }

  /**
   * Adds a step for the item, or adds the item to the last step, if that is of the same action.
   * @template T
   * @param {(items: T[]) => Promise<void>} action
   * @param {T} item
   */
  addTo(action, item) {
    const last = this.#begun < this.#steps.length ? this.#steps.at(-1) : undefined;
    if (last?.action === action) last.items.push(item);
    else this.#add({ action, items: [item] });
  }

  /** @param {Step} step */
  #add(step) {
    this.#steps.push(step);
    if (!this.#isRunning) this.#run();
  }

  async #run() {
    this.#isRunning = true;
    while (this.#begun < this.#steps.length) {
      this.#begun += 1;
      await this.#do(this.#steps[this.#begun - 1]);
      if (this.#begun === this.#steps.length || this.#begun === MAX_DONE) this.#forgetDone();
    }
    this.#isRunning = false;
    this.#onIdle();
  }

  /** There may always be a next one. */
  #forgetDone() {
    this.#steps = this.#steps.slice(this.#begun);
    this.#begun = 0;
  }

  /** @param {Step} step */
  async #do({ action, items }) {
    try {
      await action(items);
    } catch (error) {
      this.#onError(error);
    }
  }
}

/**
 * So many from there on as one transaction may take, up to the first that does not belong to them.
 * @template T
 * @param {T[]} items
 * @param {number} start
 * @param {(item: T) => boolean} belongs
 * @param {(item: T) => number} [bytesOf]  what it takes of the transaction
 */
function sliceWhile(items, start, belongs, bytesOf = () => 0) {
  let end = start;
  let bytes = 0;
  while (end < items.length && end - start < MAX_BATCH && belongs(items[end])) {
    bytes += bytesOf(items[end]);
    if (bytes > MAX_BYTES && end > start) break;
    end += 1;
  }
  return items.slice(start, end);
}

module.exports = { MAX_BATCH, StepQueue, sliceWhile };
