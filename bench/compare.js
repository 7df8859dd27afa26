'use strict';

// node bench/compare.js --before FOLDER [--rounds N] [--minutes N] [--json] [scenario…]: measures
// the library of another tree and the library of this one in turns. FOLDER is the bench/ of the
// other tree. The command `npm run bench -- --compare REV` makes the other tree and calls this.

const { parseArgs } = require('node:util');
const { Comparison } = require('./harness/comparison.js');
const { CONFIDENCE } = require('./harness/paired-ratio.js');
const { scenarioNames } = require('./harness/scenarios.js');
const { formatNumber } = require('./harness/wording.js');

/** Enough for an interval that leaves out the three lowest and the three highest ratios. */
const ROUNDS = '15';
const MINUTES = '30';

const show = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);

/** @param {string} option @param {string} text */
function toCount(option, text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${option} must be a positive number, not '${text}'`);
  return value;
}

/** @param {string[]} args */
function readArguments(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      before: { type: 'string' },
      json: { type: 'boolean', default: false },
      minutes: { type: 'string', default: MINUTES },
      rounds: { type: 'string', default: ROUNDS },
    },
  });
  if (values.before === undefined) throw new Error('--before must name a folder');
  const known = scenarioNames();
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`there is no scenario '${unknown}'; there are ${known.join(', ')}`);
  }
  return {
    before: values.before,
    json: values.json,
    minutes: toCount('minutes', values.minutes),
    names: positionals.length > 0 ? positionals : known,
    rounds: toCount('rounds', values.rounds),
  };
}

/** @param {Comparison['result']} result */
function toText({ name, title, contenders }) {
  const lines = contenders.flatMap(({ contender, figures, failed }) => {
    const compared = figures.map(({ figure, ratio, low, high, pairs, verdict }) => {
      const range =
        low === undefined ? '' : ` (${formatNumber(low)}–${formatNumber(Number(high))})`;
      const found = `${formatNumber(ratio)} x${range}, ${verdict}; ${pairs} pairs`;
      return `  ${contender}, ${figure}: ${found}`;
    });
    return failed === undefined ? compared : [...compared, `  ${contender}: failed, ${failed}`];
  });
  return [`\n${name}: ${title}`, ...lines].join('\n');
}

async function main() {
  const { before, json, minutes, names, rounds } = readArguments(process.argv.slice(2));
  const trees = { before, after: __dirname, onContender: show };
  const comparisons = names.map((name) => new Comparison(name, trees));
  const end = performance.now() + minutes * 60_000;
  for (let round = 0; round < rounds && performance.now() < end; round += 1) {
    for (const comparison of comparisons) await comparison.playRound();
  }
  show('');
  const results = comparisons.map(({ result }) => result);
  if (json) console.log(JSON.stringify({ confidence: CONFIDENCE, results }, undefined, 2));
  else for (const result of results) console.log(toText(result));
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}

module.exports = { readArguments, toText };
