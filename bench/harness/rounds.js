'use strict';

// Runs the contenders of a scenario in turns, A B C A B C, each in a fresh process. So whatever
// else the machine does meets all of them, and none meets what another one left in the compiler or
// the heap.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { makeRoom } = require('./bucket.js');
const { judge } = require('./goals.js');
const { nodeBinary, whyNoNode } = require('./nodes.js');
const { loadScenario } = require('./scenarios.js');
const { summaryOf } = require('./statistics.js');

const PROGRAM = path.join(__dirname, 'measure.js');
const WATCHDOG_MS = 120_000;

/**
 * @param {string} scenarioName
 * @param {string} contenderName
 * @param {string} [program] measure.js, of this tree or of another
 * @returns {Promise<import('./scenarios.js').Figures>}
 */
function measureOnce(scenarioName, contenderName, program = PROGRAM) {
  const { node, flags = [] } = loadScenario(scenarioName).contenders[contenderName];
  const args = ['--no-warnings', ...flags, program, scenarioName, contenderName];
  const room = makeRoom();
  const figures = new Promise((resolve, reject) => {
    const child = spawn(nodeBinary(node), args, {
      env: room.env,
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      timeout: WATCHDOG_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdio[3].on('data', (chunk) => (output += chunk));
    child.on('error', reject);
    child.on('close', (status, signal) => {
      if (status === 0) resolve(parseFigures(output));
      else reject(new Error(`${contenderName} ended with ${signal ?? status}`));
    });
  });
  return figures.finally(room.remove);
}

/** Reads figures from JSON, in which NaN and Infinity are null. @param {string} text */
const parseFigures = (text) =>
  JSON.parse(text, (_, value) => (value === null ? Number.NaN : value));

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

/** The rounds of one scenario, played one at a time. */
class ScenarioRun {
  #scenario;
  /** @type {Record<string, string>} why a contender takes no part, or no longer */
  #skipped = {};
  /** @type {Record<string, import('./scenarios.js').Figures[]>} */
  #measured = {};
  #played = 0;
  #lastMs = 0;

  /**
   * @param {string} name
   * @param {{ rounds?: number, onContender?: (text: string) => void }} [options]
   */
  constructor(name, { rounds, onContender = () => {} } = {}) {
    this.name = name;
    this.#scenario = loadScenario(name);
    this.rounds = rounds ?? this.#scenario.rounds;
    this.onContender = onContender;
    for (const [contender, description] of Object.entries(this.#scenario.contenders)) {
      const reason = whyNot(description);
      if (reason !== undefined) this.#skipped[contender] = reason;
      this.#measured[contender] = [];
    }
  }

  /** @param {number} msLeft the first round is played in any case */
  hasRoundLeft(msLeft) {
    return this.#played === 0 || (this.#played < this.rounds && this.#lastMs < msLeft);
  }

  async playRound() {
    const start = performance.now();
    for (const [contender, { mostRounds = Infinity }] of Object.entries(
      this.#scenario.contenders,
    )) {
      if (this.#skipped[contender] !== undefined || this.#played >= mostRounds) continue;
      this.onContender(`${this.name}: round ${this.#played + 1}, ${contender}`);
      try {
        this.#measured[contender].push(await measureOnce(this.name, contender));
      } catch (error) {
        this.#skipped[contender] = error instanceof Error ? error.message : String(error);
      }
    }
    this.#played += 1;
    this.#lastMs = performance.now() - start;
  }

  get result() {
    const { goal, title, note, chart, goals } = this.#scenario;
    const results = Object.fromEntries(
      Object.entries(this.#measured).map(([contender, rounds]) => {
        const skipped = this.#skipped[contender];
        return [contender, skipped ? { skipped } : { figures: summariesOf(rounds) }];
      }),
    );
    const judged = goals.map((each) => judge(each, results));
    const rounds = this.#played;
    return { name: this.name, goal, title, note, chart, rounds, results, goals: judged };
  }
}

module.exports = { ScenarioRun, measureOnce, whyNot };
