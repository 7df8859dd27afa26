'use strict';

// node bench/run.js [--rounds N] [--json] [scenario…]: measures the scenarios, all by default. The
// last results of each are kept in build/bench; RESULTS.md and the charts are made from them.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { describeMachine, describeRun } = require('./harness/machine.js');
const { PAGE, writeResults } = require('./harness/results-page.js');
const { runScenario } = require('./harness/rounds.js');
const { loadScenario, scenarioNames } = require('./harness/scenarios.js');
const { toText } = require('./harness/wording.js');

const KEPT = path.join(__dirname, '..', 'build', 'bench');

const fileOf = (name) => path.join(KEPT, `${name}.json`);

/** The last results of all scenarios that were ever measured here. */
function readKept() {
  const known = scenarioNames().filter((name) => fs.existsSync(fileOf(name)));
  return known.map((name) => JSON.parse(fs.readFileSync(fileOf(name), 'utf8')));
}

async function measure(name, rounds) {
  const run = describeRun();
  const onRound = (text) => process.stderr.isTTY && process.stderr.write(`\r\x1b[K${text}`);
  const result = { ...(await runScenario(name, { rounds, onRound })), run };
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  fs.writeFileSync(fileOf(name), JSON.stringify(result));
  return result;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean' }, rounds: { type: 'string' } },
  });
  const names = positionals.length > 0 ? positionals : scenarioNames();
  for (const name of names) loadScenario(name); // before anything is measured
  fs.mkdirSync(KEPT, { recursive: true });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  const machine = describeMachine();
  const results = [];
  for (const name of names) {
    const result = await measure(name, rounds);
    results.push(result);
    if (!values.json) console.log(toText(result));
  }
  if (values.json) console.log(JSON.stringify({ machine, results }, undefined, 2));
  writeResults(readKept(), machine);
  if (!values.json) console.log(`\nwritten: ${path.relative(process.cwd(), PAGE)}`);
}

main().catch((error) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
