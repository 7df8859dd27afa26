'use strict';

const { BlockGraph, MAX_LISTED } = require('./block-graph.js');
const { formatDuration } = require('./durations.js');
const { EXIT_STATUS } = require('./exit-status.js');
const { pidText, shortCommand, threadText } = require('./lock-rows.js');
const { colors, note, printLine, toJson } = require('./output.js');
const { openExistingManager } = require('./table-options.js');
const { printable } = require('./printable.js');

/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */

const MAX_DEADLOCKS = 10;
const MAX_NAMES = 50;

/**
 * Prints the first ones, and how many more there are.
 * @template T
 * @param {T[]} items
 * @param {number} max
 * @param {(item: T) => void} print
 * @param {string} more
 */
function printFirst(items, max, print, more) {
  for (const item of items.slice(0, max)) print(item);
  const left = items.length - max;
  if (left > 0) printLine(`${more.replace('#', left.toLocaleString('en'))}`);
}

/** @param {InspectedLock} lock */
function describe(lock) {
  const thread = lock.threadId === 0 ? '' : ` thread ${threadText(lock)}`;
  const label = lock.label === '' ? '' : ` '${printable(lock.label)}'`;
  const state = lock.processState === 'running' ? '' : ` ${colors.red(lock.processState)}`;
  const command = lock.command === '' ? '' : ` ${colors.dim(shortCommand(lock.command))}`;
  return `pid ${pidText(lock)}${thread}${label}${state}${command}`;
}

/** @param {BlockGraph} graph */
function printWaits(graph) {
  /** @param {InspectedLock} holder */
  const printHolder = (holder) => {
    const since = formatDuration(holder.held);
    printLine(`  ${colors.green('held')} for ${since} (${holder.mode}) by ${describe(holder)}`);
  };
  /** @param {InspectedLock} request */
  const printRequest = (request) => {
    const mark = graph.isDeadlocked(request) ? ` ${colors.red('DEADLOCK')}` : '';
    const since = formatDuration(request.waited);
    const what = `${colors.yellow('waits')} for ${since} (${request.mode})`;
    printLine(`  ${what} ${describe(request)}${mark}`);
    const enclosing = graph.enclosing(request);
    if (enclosing !== undefined) printLine(`    inside '${printable(enclosing.name)}'`);
  };
  /** @param {string} name */
  const printName = (name) => {
    printLine(colors.bold(printable(name)));
    printFirst(graph.holdersOf(name), MAX_LISTED, printHolder, '  … and # more hold it');
    printFirst(graph.waitersOf(name), MAX_LISTED, printRequest, '  … and # more wait');
  };
  printFirst(graph.names(), MAX_NAMES, printName, '… and # more names are waited for');
}

/** @param {BlockGraph} graph */
function printDeadlocks(graph) {
  /** @param {import('./block-graph.js').Deadlock} deadlock */
  const printDeadlock = ({ members, behind }) => {
    printLine(colors.red(`DEADLOCK of ${members.length}:`));
    for (const request of members) {
      const holders = graph.holdersOf(request.name);
      const more = holders.length > MAX_LISTED ? ` and ${holders.length - MAX_LISTED} more` : '';
      const pids = holders.slice(0, MAX_LISTED).map((holder) => `pid ${pidText(holder)}`);
      const since = formatDuration(request.waited);
      printLine(`  ${describe(request)}`);
      printLine(
        `    waits for '${printable(request.name)}' for ${since}, held by ${pids.join(', ')}${more}`,
      );
    }
    if (behind > 0) printLine(`  and ${behind.toLocaleString('en')} more wait behind it`);
    printLine(
      "  To end it: 'holdfast steal NAME' of one of these locks, or end one of the processes.",
    );
    printLine('');
  };
  printFirst(graph.deadlocks, MAX_DEADLOCKS, printDeadlock, '… and # more deadlocks\n');
}

/** @param {BlockGraph} graph */
function printDot(graph) {
  const quote = (/** @type {string} */ text) => `"${printable(text).replace(/["\\]/g, '\\$&')}"`;
  const agent = (/** @type {InspectedLock} */ lock) =>
    quote(`pid ${pidText(lock)} ${lock.clientId}`);
  const stuck = (/** @type {InspectedLock} */ lock) =>
    graph.isDeadlocked(lock) ? ' color=red penwidth=2' : '';
  printLine('digraph holdfast {');
  printLine('  rankdir=LR; node [fontname="sans-serif"]; edge [fontname="sans-serif"];');
  /** @param {InspectedLock} lock */
  const printAgent = (lock) => {
    const text = quote(`pid ${pidText(lock)} thread ${threadText(lock)}`);
    printLine(`  ${agent(lock)} [shape=box label=${text}];`);
  };
  /** @param {string} name */
  const printName = (name) => {
    const node = quote(`lock ${name}`);
    printLine(`  ${node} [shape=ellipse label=${quote(name)}];`);
    /** @param {InspectedLock} lock */
    const printHolder = (lock) => {
      printAgent(lock);
      printLine(`  ${node} -> ${agent(lock)} [label="held by"];`);
    };
    /** @param {InspectedLock} lock */
    const printRequest = (lock) => {
      printAgent(lock);
      printLine(`  ${agent(lock)} -> ${node} [label="waits"${stuck(lock)}];`);
    };
    printFirst(graph.holdersOf(name), MAX_LISTED, printHolder, '  // and # more hold it');
    printFirst(graph.waitersOf(name), MAX_LISTED, printRequest, '  // and # more wait');
  };
  printFirst(graph.names(), MAX_NAMES, printName, '  // and # more names are waited for');
  printLine('}');
}

/** @param {import('./table-options.js').Address & { dot?: boolean }} options */
async function showGraph(options) {
  const manager = openExistingManager(options);
  const graph = new BlockGraph(await manager.inspect());
  manager.close();
  // Before the output, whose reader may close it early.
  if (graph.deadlocks.length > 0) process.exitCode = EXIT_STATUS.no;
  if (options.dot) printDot(graph);
  else if (options.json) printLine(toJson(graph.toData()));
  else if (graph.names().length === 0) note('no request waits for a lock');
  else {
    printDeadlocks(graph);
    printWaits(graph);
  }
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('graph')
    .description(
      'show the waits between holders and requests; exits with 1 when there is a deadlock',
    )
    .option('--dot', 'print it for Graphviz: holdfast graph --dot | dot -Tsvg')
    .option('--json', 'print it as JSON')
    .action(showGraph);

module.exports = { add };
