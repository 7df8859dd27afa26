'use strict';

const { readEnclosingWord } = require('../enclosing-word.js');
const { eachOf, filter, runSliced } = require('../../sliced.js');
const { WaitGraph } = require('./wait-graph.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * Reads the part of the lock table that a deadlock check needs, and no more. Most requests wait for
 * a holder that can continue, which the holders alone show, without their queues. Only requests
 * that may be stuck are read with their queues, and twice where one read is of no one moment.
 */
class Surroundings {
  #backend;
  #counts;

  /**
   * @param {LockBackend} backend
   * @param {(request: LockDetail) => boolean} counts  see WaitGraph.build()
   */
  constructor(backend, counts) {
    this.#backend = backend;
    this.#counts = counts;
  }

  /**
   * @param {number[]} ids  of this agent's waiting requests
   * @returns {Promise<Set<number> | undefined>} a superset of the stuck ones; undefined: the
   *   backend can only return the whole table
   */
  async findStuck(ids) {
    if (this.#backend.waitsOf === undefined) return undefined;
    const options = { counts: this.#counts, knowsQueues: false };
    const graph = await runSliced(WaitGraph.build(await this.#walk(ids, false), options));
    const stuck = filter(ids, (id) => {
      const detail = graph.find(this.#backend.clientId, id);
      // A request that is missing is not in the busy table yet.
      return detail === undefined || graph.isStuck(detail);
    });
    return new Set(await runSliced(stuck));
  }

  /**
   * @param {number[]} ids  of this agent's waiting requests
   * @returns {Promise<LockInspection>} a consistent view of all that can be reached from them
   */
  async inspect(ids) {
    const first = await this.#walk(ids, true);
    if (first.isOneMoment) return first;
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
    const waitsOf = /** @type {NonNullable<LockBackend['waitsOf']>} */ (this.#backend.waitsOf);
    const known = ids.filter((id) => id >= 0);
    return readWords(await waitsOf.call(this.#backend, known, { withQueues }));
  }
}

/**
 * @template {LockInspection} T
 * @param {T} inspection
 * @returns {Promise<T>} the same
 */
async function readWords(inspection) {
  await runSliced(eachOf(inspection.held, readEnclosingWord));
  await runSliced(eachOf(inspection.pending, readEnclosingWord));
  return inspection;
}

/**
 * Returns the entries that are in both of two reads: all of them existed together between the
 * reads.
 * @param {LockInspection} first
 * @param {LockInspection} second  begun after the first had ended
 * @returns {Generator<void, LockInspection, void>}
 */
function* intersect(first, second) {
  /** @type {Set<string>} */
  const pending = new Set();
  yield* eachOf(second.pending, (detail) => pending.add(identityOf(detail)));
  /** @type {Set<bigint | null>} */
  const held = new Set();
  yield* eachOf(second.held, ({ token }) => held.add(token));
  return {
    held: yield* filter(first.held, ({ token }) => held.has(token)),
    pending: yield* filter(first.pending, (detail) => pending.has(identityOf(detail))),
  };
}

/**
 * The number of a request is used again once it has ended.
 * @param {LockDetail} request
 */
const identityOf = ({ clientId, requestId, since, enclosingToken, name }) =>
  `${clientId} ${requestId} ${since} ${enclosingToken} ${name}`;

module.exports = { Surroundings, identityOf };
