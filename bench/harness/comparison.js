'use strict';

// One scenario over two trees, in pairs: each contender that uses holdfast runs once with the one
// tree and once with the other, in turns. The other tree goes first in every second pair, so that
// neither always meets the warmer machine.

const path = require('node:path');
const { pairedRatio, verdictOf } = require('./paired-ratio.js');
const { measureOnce, whyNot } = require('./rounds.js');
const { loadScenario } = require('./scenarios.js');

/** Nothing of these is in the package: they measure other packages, or the machine. */
const PEERS = [
  ...['named JavaScript table', 'async-', 'Node ', 'AbortController', 'flock', 'FIFO', 'futex'],
  ...['spinning ping', 'proper-', 'Redis', 'redlock', 'PostgreSQL', 'scheduler-', 'setImmediate'],
  ...['end of file', 'exit of a child', 'fair lock', 'plain Node'],
];
const isPeer = (/** @type {string} */ name) => PEERS.some((peer) => name.startsWith(peer));

/** @param {import('./scenarios.js').Scenario} scenario */
const contendersOf = ({ contenders }) =>
  Object.entries(contenders)
    .filter(([name, contender]) => !isPeer(name) && whyNot(contender) === undefined)
    .map(([name]) => name);

/** @typedef {import('./scenarios.js').Figures} Figures */
/** @typedef {{ before: Figures, after: Figures }} Pair */

/**
 * @param {Pair[]} pairs of one contender
 * @returns {{ figure: string, verdict: string, pairs: number, ratio: number, low?: number,
 *   high?: number }[]} without the figures that are always 0
 */
function compareFigures(pairs) {
  const names = Object.keys(pairs[0]?.before ?? {});
  const compared = names.map((figure) => {
    const usable = pairs.filter(({ before, after }) => before[figure] > 0 && after[figure] > 0);
    const ratio = pairedRatio(
      usable.map(({ before }) => before[figure]),
      usable.map(({ after }) => after[figure]),
    );
    return { figure, ...ratio, verdict: verdictOf(figure, ratio) };
  });
  return compared.filter(({ pairs: count }) => count > 0);
}

class Comparison {
  /** @type {Map<string, Pair[]>} */
  #pairs = new Map();
  /** @type {Record<string, string>} */
  #failed = {};
  #rounds = 0;

  /**
   * @param {string} name of the scenario
   * @param {{ before: string, after: string, measure?: typeof measureOnce,
   *   onContender?: (text: string) => void }} options `before`, `after`: the folders bench/ of the
   *   two trees
   */
  constructor(name, { before, after, measure = measureOnce, onContender = () => {} }) {
    this.name = name;
    this.programs = {
      before: path.join(before, 'harness', 'measure.js'),
      after: path.join(after, 'harness', 'measure.js'),
    };
    this.measure = measure;
    this.onContender = onContender;
    for (const contender of contendersOf(loadScenario(name))) this.#pairs.set(contender, []);
  }

  async playRound() {
    const isBeforeFirst = this.#rounds % 2 === 0;
    this.#rounds += 1;
    const sides = /** @type {const} */ (isBeforeFirst ? ['before', 'after'] : ['after', 'before']);
    for (const [contender, pairs] of this.#pairs) {
      if (this.#failed[contender] !== undefined) continue;
      this.onContender(`${this.name}: pair ${this.#rounds}, ${contender}`);
      /** @type {Partial<Pair>} */
      const pair = {};
      try {
        for (const side of sides) {
          pair[side] = await this.measure(this.name, contender, this.programs[side]);
        }
        pairs.push(/** @type {Pair} */ (pair));
      } catch (error) {
        this.#failed[contender] = error instanceof Error ? error.message : String(error);
      }
    }
  }

  get result() {
    const contenders = [...this.#pairs].map(([contender, pairs]) => ({
      contender,
      failed: this.#failed[contender],
      figures: compareFigures(pairs),
    }));
    return { name: this.name, title: loadScenario(this.name).title, contenders };
  }
}

module.exports = { Comparison, compareFigures };
