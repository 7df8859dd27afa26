'use strict';

const { Option } = require('commander');
const { LockMonitor } = require('./lock-monitor.js');
const { colors, printLine, toJson } = require('./output.js');
const { openExistingPlace, placeText } = require('./table-options.js');
const { toMilliseconds } = require('./seconds.js');
const { render } = require('./top/render.js');
const { TopSession } = require('./top/session.js');
const { TopState } = require('./top/top-state.js');

/** @typedef {import('./lock-monitor.js').View} View */
/** @typedef {import('./table-options.js').Place & { delay: number, once?: boolean }} Options */

const DEFAULT_DELAY_MS = 1_000;
const MIN_DELAY_MS = 100;

/** Without a terminal: what one screen would show, as text. */
const PAGE = { columns: 132, rows: 60 };

/**
 * @param {LockMonitor} monitor
 * @param {Options} options
 */
async function printPage(monitor, options) {
  await new Promise((resolve) => setTimeout(resolve, options.delay)); // rates need two views
  const view = await monitor.view();
  if (options.json) {
    printLine(toJson(view));
    return;
  }
  const state = new TopState();
  const rows = state.rows(view);
  const { delay } = options;
  const place = placeText(options);
  const plain = { ...colors, ...colors.createColors(false) };
  const lines = render({ view, state, rows, size: PAGE, place, delay, colors: plain });
  for (const line of lines.slice(0, -1)) if (line !== '') printLine(line.trimEnd());
}

/** @param {Options} options */
async function top(options) {
  const manager = openExistingPlace(options);
  const monitor = new LockMonitor(manager);
  await monitor.start();
  const delay = Math.max(MIN_DELAY_MS, options.delay);
  const isScreen = process.stdout.isTTY && process.stdin.isTTY && !options.once && !options.json;
  if (isScreen) await new TopSession(monitor, { place: placeText(options), delay }).run();
  else await printPage(monitor, { ...options, delay });
  monitor.close();
  manager.close();
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('top')
    .description('show all locks live: queues, rates, holders; keys sort, filter and open a lock')
    .addOption(
      new Option('-d, --delay <seconds>', 'between two pictures')
        .argParser(toMilliseconds)
        .default(DEFAULT_DELAY_MS, '1'),
    )
    .option('--once', 'print one page and exit, as without a terminal')
    .option('--json', 'print one page as JSON')
    .action(top);

module.exports = { add };
