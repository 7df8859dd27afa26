'use strict';

const { noCounts } = require('./lock-statistics.js');

/** @typedef {import('./lock-statistics.js').Counts} Counts */

/** Kinds that a paused watch does not see; of the others it sees all. */
const SAMPLED = /** @type {const} */ (['grants', 'releases', 'aborts']);

/** Counts of all that happened, from counts of what was seen. */
class CountEstimate {
  totals = noCounts();
  #seen = noCounts();

  /**
   * What was seen since the last call.
   * @param {Counts} seen  since the beginning
   */
  deltas(seen) {
    const deltas = noCounts();
    for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(deltas))) {
      deltas[kind] = seen[kind] - this.#seen[kind];
    }
    this.#seen = { ...seen };
    return deltas;
  }

  /**
   * @param {Counts} deltas  of deltas()
   * @param {number} factor  how many of a sampled kind there were for each that was seen
   * @param {number} [grants]  known exactly
   */
  add(deltas, factor, grants = undefined) {
    for (const kind of SAMPLED) deltas[kind] = Math.round(deltas[kind] * factor);
    if (grants !== undefined) deltas.grants = grants;
    for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(deltas))) {
      this.totals[kind] += deltas[kind];
    }
    return deltas;
  }
}

/**
 * How many events there were for each that was seen.
 * @param {number} seen  grants
 * @param {{ grants: number | undefined, isSample: boolean }} taken
 */
const factorOf = (seen, { grants, isSample }) =>
  isSample && grants !== undefined && seen > 0 ? Math.max(1, grants / seen) : 1;

module.exports = { CountEstimate, factorOf };
