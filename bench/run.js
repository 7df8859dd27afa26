'use strict';

// node bench/run.js [--rounds N] [--minutes N] [--json] [--group etcd|postgres|scale] [scenario…]
// measures the scenarios; by default all without a group, or all of the named group. The last
// results of each are kept in build/bench; RESULTS.md is made from them.
//
// First one round of every scenario, then the next one. A disturbance of a minute meets one round
// of some, and when the time is over all have had about as many.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { describeMachine, describeRun } = require('./harness/machine.js');
const { PAGE, writeResults } = require('./harness/results-page.js');
const { ScenarioRun } = require('./harness/rounds.js');
const { allScenarioNames, scenarioNames } = require('./harness/scenarios.js');
const { toText } = require('./harness/wording.js');

/** Rounds that would take longer are left out. */
const MINUTES = '9';
const KEPT = path.join(__dirname, '..', 'build', 'bench');

const fileOf = (name) => path.join(KEPT, `${name}.json`);

/** The last results of all scenarios that were ever measured here. */
function readKept() {
  const known = allScenarioNames().filter((name) => fs.existsSync(fileOf(name)));
  return known.map((name) => JSON.parse(fs.readFileSync(fileOf(name), 'utf8')));
}

const show = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);

/**
 * @param {ScenarioRun[]} runs
 * @param {number} minutes
 */
async function playAll(runs, minutes) {
  const end = performance.now() + minutes * 60_000;
  for (let isOver = false; !isOver;) {
    isOver = true;
    for (const run of runs) {
      if (!run.hasRoundLeft(end - performance.now())) continue;
      await run.playRound();
      isOver = false;
    }
  }
  show('');
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      group: { type: 'string' },
      json: { type: 'boolean' },
      minutes: { type: 'string', default: MINUTES },
      rounds: { type: 'string' },
    },
  });
  const group = /** @type {'etcd' | 'postgres' | 'scale' | undefined} */ (values.group);
  const names = positionals.length > 0 ? positionals : scenarioNames(group);
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  const runs = names.map((name) => new ScenarioRun(name, { rounds, onContender: show }));
  const [machine, moment] = [describeMachine(), describeRun()];
  await playAll(runs, Number(values.minutes));
  fs.mkdirSync(KEPT, { recursive: true });
  const results = runs.map(({ result }) => ({ ...result, run: moment }));
  for (const result of results) fs.writeFileSync(fileOf(result.name), JSON.stringify(result));
  if (!values.json) for (const result of results) console.log(toText(result));
  if (values.json) console.log(JSON.stringify({ machine, results }, undefined, 2));
  writeResults(readKept(), machine);
  if (!values.json) console.log(`\nwritten: ${path.relative(process.cwd(), PAGE)}`);
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
