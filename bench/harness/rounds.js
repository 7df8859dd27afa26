'use strict';

// Runs the contenders of a scenario in turns, A B C A B C, each in a fresh process: whatever else
// the machine does meets all of them, and none meets what another one left in the compiler or the
// heap.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { judge } = require('./goals.js');
const { nodeBinary, whyNoNode } = require('./nodes.js');
const { loadScenario } = require('./scenarios.js');
const { summaryOf } = require('./statistics.js');

const PROGRAM = path.join(__dirname, 'measure.js');
const WATCHDOG_MS = 120_000;

/**
 * @param {string} scenarioName
 * @param {string} contenderName
 * @returns {Promise<import('./scenarios.js').Figures>}
 */
function measureOnce(scenarioName, contenderName) {
  const { node, flags = [] } = loadScenario(scenarioName).contenders[contenderName];
  const args = ['--no-warnings', ...flags, PROGRAM, scenarioName, contenderName];
  return new Promise((resolve, reject) => {
    const child = spawn(nodeBinary(node), args, {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      timeout: WATCHDOG_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdio[3].on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (status, signal) => {
      if (status === 0) resolve(JSON.parse(output));
      else reject(new Error(`${contenderName} ended with ${signal ?? status}`));
    });
  });
}

/** @param {import('./scenarios.js').Contender} contender */
function whyNot({ node, whyNot: ownReason }) {
  return ownReason?.() ?? (node && whyNoNode(node));
}

/**
 * One figure of a contender in each round.
 * @param {import('./scenarios.js').Figures[]} rounds
 */
function summariesOf(rounds) {
  const names = Object.keys(rounds[0]);
  return Object.fromEntries(
    names.map((name) => [name, summaryOf(rounds.map((figures) => figures[name]))]),
  );
}

/**
 * @param {string} name
 * @param {{ rounds?: number, onRound?: (text: string) => void }} [options]
 */
async function runScenario(name, { rounds, onRound = () => {} } = {}) {
  const scenario = loadScenario(name);
  const count = rounds ?? scenario.rounds;
  /** @type {Record<string, any>} */
  const results = {};
  /** @type {Record<string, import('./scenarios.js').Figures[]>} */
  const measured = {};
  for (const [contender, description] of Object.entries(scenario.contenders)) {
    const skipped = whyNot(description);
    results[contender] = skipped === undefined ? {} : { skipped };
    measured[contender] = [];
  }
  for (let round = 0; round < count; round += 1) {
    for (const [contender, { mostRounds = Infinity }] of Object.entries(scenario.contenders)) {
      if (results[contender].skipped !== undefined || round >= mostRounds) continue;
      onRound(`${name}: round ${round + 1} of ${count}, ${contender}`);
      try {
        measured[contender].push(await measureOnce(name, contender));
      } catch (error) {
        results[contender].skipped = error instanceof Error ? error.message : String(error);
      }
    }
  }
  for (const [contender, list] of Object.entries(measured)) {
    if (results[contender].skipped === undefined) results[contender].figures = summariesOf(list);
  }
  const { goal, title, note, chart } = scenario;
  const goals = scenario.goals.map((each) => judge(each, results));
  return { name, goal, title, note, chart, rounds: count, results, goals };
}

module.exports = { runScenario };
