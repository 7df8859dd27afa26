'use strict';

const { readEnclosingWord } = require('../enclosing-word.js');
const { linkPossible } = require('./possible-links.js');
const { runSliced } = require('../../sliced.js');
const { WaitGraph, eachOf, filter, keyOf } = require('./wait-graph.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * What a look for deadlocks reads: as little as it can. Most requests wait for a holder that goes
 * on. That is seen from the holders alone, without a look at the queues; only what may be stuck is
 * read whole, and twice.
 */
class Surroundings {
  #backend;
  #isAwaited;

  /**
   * @param {LockBackend} backend
   * @param {import('./wait-graph.js').IsAwaited} isAwaited
   */
  constructor(backend, isAwaited) {
    this.#backend = backend;
    this.#isAwaited = isAwaited;
  }

  /**
   * @param {number[]} ids  of own requests that wait
   * @returns {Promise<Set<number> | undefined>} those that may be stuck: all that are, perhaps
   *   more; undefined: the backend can only show everything
   */
  async findStuck(ids) {
    if (this.#backend.waitsOf === undefined) return undefined;
    const options = { isAwaited: this.#isAwaited, links: linkPossible, knowsQueues: false };
    const graph = await runSliced(WaitGraph.build(await this.#walk(ids, false), options));
    const stuck = filter(ids, (id) => {
      const detail = graph.find(this.#backend.clientId, id);
      // One that is not there yet is still on its way into a busy table.
      return detail === undefined || graph.isStuck(detail);
    });
    return new Set(await runSliced(stuck));
  }

  /**
   * @param {number[]} ids  of own requests that wait
   * @returns {Promise<LockInspection>} what can be reached from them, at one moment
   */
  async inspect(ids) {
    const first = await this.#walk(ids, true);
    return runSliced(intersect(first, await this.#walk(ids, true)));
  }

  async inspectAll() {
    return readWords(await this.#backend.inspect());
  }

  /**
   * @param {number[]} ids
   * @param {boolean} withQueues
   */
  async #walk(ids, withQueues) {
    const options = { withQueues, withPossible: true };
    const waitsOf = /** @type {NonNullable<LockBackend['waitsOf']>} */ (this.#backend.waitsOf);
    const known = ids.filter((id) => id >= 0);
    return readWords(await waitsOf.call(this.#backend, known, options));
  }
}

/**
 * @param {LockInspection} inspection
 * @returns {Promise<LockInspection>} the same
 */
async function readWords(inspection) {
  await runSliced(eachOf(inspection.held, readEnclosingWord));
  await runSliced(eachOf(inspection.pending, readEnclosingWord));
  return inspection;
}

/**
 * What is in both of two looks was there all the time between them, and so at one moment.
 * @param {LockInspection} first
 * @param {LockInspection} second  begun when the first had ended
 * @returns {Generator<void, LockInspection, void>}
 */
function* intersect(first, second) {
  /** @type {Set<string>} */
  const pending = new Set();
  yield* eachOf(second.pending, (detail) => pending.add(keyOf(detail.clientId, detail.requestId)));
  /** @type {Set<bigint | null>} */
  const held = new Set();
  yield* eachOf(second.held, ({ token }) => held.add(token));
  return {
    held: yield* filter(first.held, ({ token }) => held.has(token)),
    pending: yield* filter(first.pending, (detail) =>
      pending.has(keyOf(detail.clientId, detail.requestId)),
    ),
  };
}

module.exports = { Surroundings };
