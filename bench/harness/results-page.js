'use strict';

// RESULTS.md and its charts, from the results of the last run of each scenario.

const fs = require('node:fs');
const path = require('node:path');
const { toSvg } = require('./chart.js');
const { formatGoal, formatVerdict, toRows } = require('./wording.js');

const BENCH = path.join(__dirname, '..');
const PAGE = path.join(BENCH, 'RESULTS.md');
const CHARTS = path.join(BENCH, 'charts');

/** @typedef {ReturnType<typeof import('./machine.js').describeRun>} Run */
/** @typedef {import('./wording.js').Result & { run: Run }} Result */

/** @param {string[][]} rows the first one is the header */
function toTable([header, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** @param {Result[]} results */
function goalsTable(results) {
  const rows = results.flatMap(({ name, goal: number, goals }) =>
    goals.map((goal) => {
      const { found, verdict } = formatVerdict(goal);
      return [`[${number}](#${name})`, formatGoal(goal), found, verdict];
    }),
  );
  return toTable([['goal', 'what', 'found', ''], ...rows]);
}

/** @param {Result} result */
function section(result) {
  const { name, goal, title, note, rounds, results, chart, run } = result;
  return [
    `## ${name}`,
    `Goal ${goal}. ${title}.${note === undefined ? '' : ` ${note}`}`,
    `Median (least–most) of ${rounds} rounds, ${run.date}, commit ${run.commit}, load ${run.load}.`,
    toTable(toRows(results)),
    ...(chart === undefined ? [] : [`![${chart.title}](charts/${name}.svg)`]),
  ].join('\n\n');
}

/**
 * @param {Result[]} results
 * @param {ReturnType<typeof import('./machine.js').describeMachine>} machine
 */
function writeResults(results, machine) {
  fs.mkdirSync(CHARTS, { recursive: true });
  for (const result of results) {
    const file = path.join(CHARTS, `${result.name}.svg`);
    if (result.chart !== undefined) fs.writeFileSync(file, toSvg(result));
  }
  const { dependencies, optionalDependencies } = require('../package.json');
  const versions = Object.entries({ ...dependencies, ...optionalDependencies })
    .map(([name, version]) => `${name} ${version.replace(/^npm:.*@/, '')}`)
    .join(', ');
  const page = [
    '# Results',
    '`npm run bench` writes this page; [README.md](README.md) says how it measures. Absolute times ' +
      'belong to one machine; goals are ratios of contenders in the same round.',
    `${machine.processor}, ${machine.cores} cores, ${machine.memory}, ${machine.system}, ` +
      `Node ${machine.node.slice(1)}. Compared with: ${versions}.`,
    goalsTable(results),
    ...results.map(section),
  ];
  fs.writeFileSync(PAGE, `${page.join('\n\n')}\n`);
}

module.exports = { PAGE, writeResults };
