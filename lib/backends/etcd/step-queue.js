'use strict';

/** An etcd transaction has 128 operations at most, unless the cluster is configured otherwise. */
const MAX_BATCH = 100;
/** And 1.5 MiB; the rest is for what else is in it. */
const MAX_BYTES = 1_000_000;

/** @typedef {{ action: (items: any[]) => Promise<void>, items: any[] }} Step */

/** Runs steps one after the other. */
class StepQueue {
  /** That have not ended, in their order. @type {Set<Step>} */
  #steps = new Set();
  /** @type {Step | undefined} until it begins */
  #last;
  #onError;
  #onIdle;

  /**
   * @param {(error: unknown) => void} onError  a step has failed; the next one still runs
   * @param {() => void} [onIdle]  there are no more
   */
  constructor(onError, onIdle = () => {}) {
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
    if (this.#last?.action === action) this.#last.items.push(item);
    else this.#add({ action, items: [item] });
  }

  /**
   * Adds a step whose result is for the caller, also if it fails.
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  run(action) {
    return new Promise((resolve, reject) => {
      this.add(() => action().then(resolve, reject));
    });
  }

  /**
   * The items of the next step, which is removed, if it is of that action.
   * @template T
   * @param {(items: T[]) => Promise<void>} action
   * @returns {T[]}
   */
  takeNext(action) {
    const [, next] = this.#steps;
    if (next?.action !== action) return [];
    this.#steps.delete(next);
    if (this.#last === next) this.#last = undefined;
    return next.items;
  }

  /** @param {Step} step */
  #add(step) {
    this.#steps.add(step);
    this.#last = step;
    if (this.#steps.size === 1) void this.#run();
  }

  async #run() {
    // With the steps that are added meanwhile.
    for (const step of this.#steps) {
      if (this.#last === step) this.#last = undefined;
      try {
        await step.action(step.items);
      } catch (error) {
        this.#onError(error);
      }
      this.#steps.delete(step);
    }
    this.#onIdle();
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
