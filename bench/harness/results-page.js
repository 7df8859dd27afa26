'use strict';

// RESULTS.md, from the results of the last run of each scenario. A scenario that was not measured
// here stays as it stands on the page.

const fs = require('node:fs');
const path = require('node:path');
const { addToHistory, historyRows, readHistory, writeHistory } = require('./history.js');
const { allScenarioNames } = require('./scenarios.js');
const { formatGoal, formatVerdict, toRows } = require('./wording.js');

const BENCH = path.join(__dirname, '..');
const PAGE = path.join(BENCH, 'RESULTS.md');

/** @typedef {ReturnType<typeof import('./machine.js').describeRun>} Run */
/** @typedef {import('./wording.js').Result & { run: Run }} Result */

/** @param {string[][]} rows the first one is the header */
function toTable([header, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** @param {Result} result */
const goalRows = ({ name, goal: number, goals }) =>
  goals.map((goal) => {
    const { found, verdict } = formatVerdict(goal);
    return `| [${number}](#${name}) | ${formatGoal(goal)} | ${found} | ${verdict} |`;
  });

/**
 * The rows and the section of a scenario on a page.
 * @param {string} page
 * @param {string} name
 * @returns {{ rows: string[], section: string } | undefined}
 */
function partOf(page, name) {
  const [head, ...sections] = page.split(/^(?=## )/m);
  const found = sections.find((text) => text.startsWith(`## ${name}\n`))?.trimEnd();
  const rows = head.split('\n').filter((line) => line.includes(`](#${name}) |`));
  return found === undefined ? undefined : { rows, section: found };
}

/**
 * The goals and the sections of all scenarios, in their order.
 * @param {Result[]} results  of those that were measured here
 * @param {string} page  as it is
 * @param {string[]} names  of all scenarios
 */
function mergeParts(results, page, names) {
  const parts = names
    .map((name) => {
      const result = results.find((each) => each.name === name);
      if (result === undefined) return partOf(page, name);
      return { rows: goalRows(result), section: section(result) };
    })
    .filter((part) => part !== undefined);
  const table = toTable([['goal', 'what', 'found', '']]);
  const rows = parts.flatMap((part) => part.rows);
  return [[table, ...rows].join('\n'), ...parts.map((part) => part.section)];
}

/** @param {Result} result */
function section(result) {
  const { name, goal, title, note, rounds, results, run } = result;
  return [
    `## ${name}`,
    `Goal ${goal}. ${title}.${note === undefined ? '' : ` ${note}`}`,
    `Median (least–most) of ${rounds} rounds, ${run.date}, commit ${run.commit}, load ${run.load}.`,
    toTable(toRows(results)),
  ].join('\n\n');
}

/**
 * @param {Result[]} results
 * @param {ReturnType<typeof import('./machine.js').describeMachine>} machine
 */
function writeResults(results, machine) {
  const { dependencies, optionalDependencies } = require('../package.json');
  const versions = Object.entries({ ...dependencies, ...optionalDependencies })
    .map(([name, version]) => `\`${name} ${version.replace(/^npm:.*@/, '')}\``)
    .join(', ');
  const history = addToHistory(readHistory(), results, require('../../package.json').version);
  writeHistory(history);
  const before = fs.existsSync(PAGE) ? fs.readFileSync(PAGE, 'utf8') : '';
  const page = [
    '# Results',
    '`npm run bench` and `npm run bench -- --group etcd` write this page; [README.md](README.md) says how it measures. Absolute times ' +
      'belong to one machine; goals are ratios of contenders in the same round.',
    `${machine.processor}, ${machine.cores} cores, ${machine.memory}, ${machine.system}, ` +
      `Node ${machine.node.slice(1)}. Compared with: ${versions}.`,
    'The main ratios by version: less is better of times, more of `/s`.',
    toTable(historyRows(history)),
    ...mergeParts(results, before, allScenarioNames()),
  ];
  fs.writeFileSync(PAGE, `${page.join('\n\n')}\n`);
}

module.exports = { PAGE, mergeParts, writeResults };
