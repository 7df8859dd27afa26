'use strict';

const { clearTimeout, performance, setTimeout } = require('../time.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */

/** How long the figures of one collection are used: a scrape asks each metric in turn. */
const FRESH_MS = 100;
/** Prometheus waits 10 seconds for a page; the other metrics of the host are on the same page. */
const PATIENCE_MS = 1_000;

/**
 * Reads figures for a page of the host program. The page is the host's, so a failed collection adds
 * no figures to it, and a late one neither: the page comes without them.
 * @param {() => Promise<Data>} collect
 * @returns {() => Promise<Data | undefined>} never rejects
 */
function figuresForHost(collect) {
  /** @type {Promise<Data | undefined> | undefined} */
  let answer;
  let startedAt = 0;
  // As long as a collection is under way, no second one starts: a silent engine would collect them.
  let isUnderWay = false;
  return () => {
    if (answer !== undefined && (isUnderWay || performance.now() - startedAt <= FRESH_MS)) {
      return answer;
    }
    startedAt = performance.now();
    isUnderWay = true;
    answer = new Promise((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS, undefined);
      const end = (/** @type {Data | undefined} */ data) => {
        clearTimeout(timer);
        isUnderWay = false;
        resolve(data);
      };
      collect().then(end, () => end(undefined));
    });
    return answer;
  };
}

module.exports = { figuresForHost };
