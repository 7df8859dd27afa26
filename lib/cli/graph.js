'use strict';

const { createBlockGraph } = require('./block-graph.js');
const { formatDuration } = require('./durations.js');
const { EXIT_STATUS } = require('./exit-status.js');
const { pidText, shortCommand, threadText } = require('./lock-rows.js');
const { colors, note, printLine, toJson } = require('./output.js');
const { openExistingPlace } = require('./table-options.js');
const { printable } = require('./printable.js');

/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('./block-graph.js').BlockGraph} BlockGraph */

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
  for (const name of graph.names()) {
    printLine(colors.bold(printable(name)));
    for (const holder of graph.holdersOf(name)) {
      const since = formatDuration(holder.held);
      printLine(`  ${colors.green('held')} for ${since} (${holder.mode}) by ${describe(holder)}`);
    }
    for (const request of graph.waitersOf(name)) {
      const isStuck = graph.isDeadlocked(request);
      const mark = isStuck ? ` ${colors.red('DEADLOCK')}` : '';
      const since = formatDuration(request.waited);
      const what = `${colors.yellow('waits')} for ${since} (${request.mode})`;
      printLine(`  ${what} ${describe(request)}${mark}`);
      const holds = graph.heldBy(request).map((lock) => `'${printable(lock.name)}'`);
      if (holds.length > 0) printLine(`    and holds ${holds.join(', ')}`);
    }
  }
}

/** @param {BlockGraph} graph */
function printCycles(graph) {
  for (const { members, isCertain } of graph.cycles()) {
    const title = isCertain ? 'DEADLOCK' : 'POSSIBLE DEADLOCK';
    printLine('');
    printLine(colors.red(`${title} of ${members.length}:`));
    for (const request of members) {
      const holders = graph.holdersOf(request.name).map((holder) => `pid ${pidText(holder)}`);
      printLine(`  ${describe(request)}`);
      printLine(`    waits for '${printable(request.name)}', held by ${holders.join(', ')}`);
    }
    if (!isCertain) {
      printLine(
        '  Each holds what the next waits for; whether it is inside that lock is not known.',
      );
    }
    printLine(
      "  To end it: 'holdfast steal NAME' of one of these locks, or end one of the processes.",
    );
  }
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
  const all = graph.names().flatMap((name) => [...graph.holdersOf(name), ...graph.waitersOf(name)]);
  for (const lock of all) {
    const text = quote(`pid ${pidText(lock)} thread ${threadText(lock)}`);
    printLine(`  ${agent(lock)} [shape=box label=${text}];`);
  }
  for (const name of graph.names()) {
    printLine(`  ${quote(`lock ${name}`)} [shape=ellipse label=${quote(name)}];`);
    for (const lock of graph.holdersOf(name)) {
      printLine(`  ${quote(`lock ${name}`)} -> ${agent(lock)} [label="held by"];`);
    }
    for (const lock of graph.waitersOf(name)) {
      printLine(`  ${agent(lock)} -> ${quote(`lock ${name}`)} [label="waits"${stuck(lock)}];`);
    }
  }
  printLine('}');
}

/** @param {import('./table-options.js').Place & { dot?: boolean }} options */
async function showGraph(options) {
  const manager = openExistingPlace(options);
  const graph = createBlockGraph(await manager.inspect());
  manager.close();
  // Before the output, whose reader may close it early.
  if (graph.cycles().length > 0) process.exitCode = EXIT_STATUS.no;
  if (options.dot) printDot(graph);
  else if (options.json) printLine(toJson(graph.toData()));
  else if (graph.names().length === 0) note('no request waits for a lock');
  else {
    printWaits(graph);
    printCycles(graph);
  }
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('graph')
    .description('show who waits for whom; exits with 1 when there is a deadlock')
    .option('--dot', 'print it for Graphviz: holdfast graph --dot | dot -Tsvg')
    .option('--json', 'print it as JSON')
    .action(showGraph);

module.exports = { add };
