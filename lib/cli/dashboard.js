'use strict';

const { once } = require('node:events');
const { Option } = require('commander');
const { CommandError } = require('./exit-status.js');
const { DashboardServer } = require('./dashboard/server.js');
const { printLine, toJson } = require('./output.js');
const { openExistingPlace, placeText } = require('./table-options.js');
const { integerFrom, toMilliseconds } = require('./seconds.js');

/** @typedef {import('./table-options.js').Place & { port: number, interval: number }} Options */

const MAX_PORT = 65_535;
const DEFAULT_INTERVAL_MS = 1_000;
const MIN_INTERVAL_MS = 100;

/** @param {Options} options */
async function dashboard(options) {
  const manager = openExistingPlace(options);
  await manager.query(); // what the table cannot be opened for is said here, not in the page
  const place = placeText(options);
  const interval = Math.max(MIN_INTERVAL_MS, options.interval);
  const server = new DashboardServer(manager, { place, interval });
  let url;
  try {
    url = await server.listen(options.port);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const advice = code === 'EADDRINUSE' ? ': it is in use; leave --port out for a free one' : '';
    throw new CommandError(
      `dashboard: port ${options.port}: ${advice === '' ? message : code}${advice}`,
    );
  }
  if (options.json) printLine(toJson({ url, pid: process.pid }));
  else {
    printLine(`The dashboard is at\n\n  ${url}\n`);
    printLine('This address is a key: whoever has it can see the locks. Ctrl-C ends it.');
  }
  await Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  await server.close();
  manager.close();
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('dashboard')
    .description('serve a live page about the locks, to this machine only')
    .addOption(
      new Option('--port <port>', 'of the address')
        .argParser(integerFrom(0, MAX_PORT))
        .default(0, 'a free one'),
    )
    .addOption(
      new Option('--interval <seconds>', 'between two pictures')
        .argParser(toMilliseconds)
        .default(DEFAULT_INTERVAL_MS, '1'),
    )
    .option('--json', 'print the address as JSON')
    .action(dashboard);

module.exports = { add };
