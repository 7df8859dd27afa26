'use strict';

// The main ratios of each version that was measured, for the table in RESULTS.md. They are kept in
// history.json; a run of the benchmarks adds the ratios of its commit.

const fs = require('node:fs');
const path = require('node:path');

const FILE = path.join(__dirname, '..', 'history.json');
/** Of versions; older ones are dropped. */
const MAX_ENTRIES = 12;

/** Goals of scenarios: this contender's figure as a multiple of another contender's. */
const MAIN = [
  { scenario: 'uncontended', figure: 'ns', of: 'holdfast', per: 'named JavaScript table' },
  { scenario: 'uncontended', figure: 'ns', of: 'holdfast', per: 'async-mutex' },
  { scenario: 'uncontended', figure: 'ns', of: 'holdfast, Node 24', per: 'Node 24' },
  { scenario: 'queue', figure: '1000 ns', of: 'holdfast', per: 'named JavaScript table' },
  { scenario: 'threads-2', figure: 'hand-overs/s', of: 'holdfast', per: 'Node 26' },
  { scenario: 'processes-2', figure: 'hand-overs/s', of: 'holdfast', per: 'flock' },
  { scenario: 'processes-4', figure: 'hand-overs/s', of: 'holdfast', per: 'flock' },
  { scenario: 'sync-2', figure: 'hand-overs/s', of: 'requestSync()', per: 'futex ping-pong' },
  { scenario: 'tasks', figure: 'ns per task', of: 'holdfast', per: 'setImmediate in a promise' },
];

/** @typedef {typeof MAIN[number]} Ratio */
/**
 * @typedef {object} Entry
 * @property {string} version
 * @property {string} commit
 * @property {string} date
 * @property {Record<string, number>} ratios  by their titles
 */

/** @param {Ratio} ratio */
const titleOf = ({ scenario, figure, of, per }) => `${scenario}: ${of}, ${figure}, per ${per}`;

/** @returns {Entry[]} */
const readHistory = () => (fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : []);

/** @param {Entry[]} entries */
const writeHistory = (entries) =>
  fs.writeFileSync(FILE, `${JSON.stringify(entries, undefined, 2)}\n`);

/**
 * The history with what was measured: each result belongs to the commit of its run.
 * @param {Entry[]} history
 * @param {import('./results-page.js').Result[]} results
 * @param {string} version
 * @returns {Entry[]} the oldest first
 */
function addToHistory(history, results, version) {
  const entries = history.map((entry) => ({ ...entry, ratios: { ...entry.ratios } }));
  for (const ratio of MAIN) {
    const result = results.find(({ name }) => name === ratio.scenario);
    const value = result?.goals.find(
      ({ of, per, figure }) => of === ratio.of && per === ratio.per && figure === ratio.figure,
    )?.value;
    if (result === undefined || value === undefined) continue;
    const { commit, date } = result.run;
    let entry = entries.find((each) => each.commit === commit);
    if (entry === undefined) entries.push((entry = { version, commit, date, ratios: {} }));
    entry.ratios[titleOf(ratio)] = Number(value.toPrecision(3));
  }
  return entries.slice(-MAX_ENTRIES);
}

/**
 * @param {Entry[]} history
 * @returns {string[][]} the first row is the header
 */
function historyRows(history) {
  const header = history.map(({ version, commit, date }) => `${version} (${commit}), ${date}`);
  const rows = MAIN.map((ratio) => {
    const title = titleOf(ratio);
    return [title, ...history.map(({ ratios }) => (title in ratios ? `${ratios[title]} x` : ''))];
  });
  return [['main ratio', ...header], ...rows];
}

module.exports = { addToHistory, historyRows, readHistory, writeHistory };
