'use strict';

/** An etcd transaction has 128 operations at most, unless the cluster is told otherwise. */
const MAX_BATCH = 100;

/** @typedef {() => Promise<void>} Step */

/** Runs steps one after the other. */
class StepQueue {
  /** @type {Step[]} */
  #steps = [];
  /** @type {{ step: Step, action: Function, items: any[] } | undefined} may take more */
  #batch;
  #isRunning = false;
  #onError;
  #onIdle;

  /**
   * @param {(error: unknown) => void} onError  a step has failed; the next one is done all the same
   * @param {() => void} onIdle  there are no more
   */
  constructor(onError, onIdle) {
    this.#onError = onError;
    this.#onIdle = onIdle;
  }

  /** @param {Step} step */
  add(step) {
    this.#steps.push(step);
    if (!this.#isRunning) this.#run();
  }

  /**
   * Adds a step for the item, or adds the item to the last step, if that is of the same action.
   * @template T
   * @param {(items: T[]) => Promise<void>} action
   * @param {T} item
   */
  addTo(action, item) {
    if (this.#batch?.action === action && this.#batch.step === this.#steps.at(-1)) {
      this.#batch.items.push(item);
      return;
    }
    const items = [item];
    const step = () => action(items);
    this.#batch = { step, action, items };
    this.add(step);
  }

  async #run() {
    this.#isRunning = true;
    while (this.#steps.length > 0) {
      const steps = this.#steps;
      this.#steps = [];
      for (const step of steps) await this.#do(step);
    }
    this.#isRunning = false;
    this.#onIdle();
  }

  /** @param {Step} step */
  async #do(step) {
    try {
      await step();
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
 */
function sliceWhile(items, start, belongs) {
  let end = start;
  while (end < items.length && end - start < MAX_BATCH && belongs(items[end])) end += 1;
  return items.slice(start, end);
}

module.exports = { MAX_BATCH, StepQueue, sliceWhile };
