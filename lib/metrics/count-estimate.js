'use strict';

const { noCounts } = require('./lock-statistics.js');

/** @typedef {import('./lock-statistics.js').Counts} Counts */

/** @param {Counts} counts */
const losses = ({ steals, expiries, deaths }) => steals + expiries + deaths;

/** Counts of all that happened, from counts of what was seen. */
class CountEstimate {
  totals = noCounts();
  #seen = noCounts();

  /**
   * The counts of events since the last call.
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
   * Adds up. A paused watch sees no grants, releases and aborts; it sees all other kinds.
   * @param {Counts} deltas  of deltas()
   * @param {number} factor  how many grants there were for each that was seen
   * @param {{ grants: number | undefined, isSample: boolean }} taken  grants: known exactly
   */
  add(deltas, factor, { grants, isSample }) {
    deltas.aborts = Math.round(deltas.aborts * factor);
    deltas.grants = grants ?? Math.round(deltas.grants * factor);
    if (isSample) deltas.releases = Math.max(deltas.releases, this.#estimateReleases(deltas));
    for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(deltas))) {
      this.totals[kind] += deltas[kind];
    }
    return deltas;
  }

  /**
   * Each grant ends once, by a release or by a loss, and each loss was seen. So a period releases
   * as many locks as it grants, and all periods together release no more than they grant.
   * @param {Counts} deltas
   */
  #estimateReleases(deltas) {
    const inPeriod = deltas.grants - losses(deltas);
    const inAll = this.totals.grants - losses(this.totals) - this.totals.releases + inPeriod;
    return Math.min(inPeriod, inAll);
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
