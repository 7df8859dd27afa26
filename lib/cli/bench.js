'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { cpus, tmpdir } = require('node:os');
const path = require('node:path');
const { openLockManager } = require('holdfast');
const { Peer, servePeer } = require('./bench/peer.js');
const { SCENARIOS } = require('./bench/scenarios.js');
const { colors, printLine, toJson } = require('./output.js');
const { toMilliseconds } = require('./seconds.js');
const { tableLines } = require('./table.js');

/** @typedef {import('./bench/scenarios.js').Result} Result */

const DEFAULT_SECONDS = 8;
const MS_PER_SECOND = 1_000;
const NS_PER_US = 1_000;
const NS_PER_MS = 1_000_000;
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** @param {number} ns */
function formatTime(ns) {
  if (ns < NS_PER_US) return `${Math.round(ns)} ns`;
  if (ns < NS_PER_MS) return `${(ns / NS_PER_US).toFixed(2)} µs`;
  return `${(ns / NS_PER_MS).toFixed(2)} ms`;
}

/** @param {Result} result */
const toCells = ({ title, medianNs, p99Ns, perSecond }) => [
  title,
  formatTime(medianNs),
  formatTime(p99Ns),
  perSecond === undefined ? '' : Math.round(perSecond).toLocaleString('en'),
];

const COLUMNS = [
  { title: 'WHAT' },
  { title: 'MEDIAN', isNumber: true },
  { title: '99 %', isNumber: true },
  { title: 'A SECOND' },
];

/**
 * Cleans up before a signal ends this program.
 * @param {() => void} cleanUp
 * @returns {() => void} ends that
 */
function onInterruption(cleanUp) {
  const end = () => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  };
  const interrupt = (/** @type {NodeJS.Signals} */ signal) => {
    end();
    cleanUp();
    process.kill(process.pid, signal); // as if it had not been heard
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  return end;
}

/** @param {{ url?: string, directory?: string, seconds: number, json?: boolean }} options */
async function bench({ url, directory, seconds: ms, json }) {
  // A separate table: other programs do not disturb the figures, and are not disturbed.
  const own = mkdtempSync(path.join(directory ?? defaultRoot(), 'holdfast-bench-'));
  const place = url === undefined ? { directory: own } : { url, bucket: 'bench' };
  const manager = openLockManager(place);
  const removeOwn = () => rmSync(own, { recursive: true, force: true });
  const endWatching = onInterruption(removeOwn);
  const results = [];
  try {
    for (const scenario of SCENARIOS) {
      if (!json && process.stderr.isTTY) process.stderr.write(`\r${scenario.title} …\u001b[K`);
      const start = () => Peer.start(place);
      results.push(await scenario.run({ manager, title: scenario.title, ms, start }));
    }
  } finally {
    endWatching();
    manager.close();
    removeOwn();
  }
  if (!json && process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  report(results, json);
}

/** @param {Result[]} results @param {boolean | undefined} json */
function report(results, json) {
  if (json) {
    for (const result of results) printLine(toJson(result));
    return;
  }
  const style = (/** @type {string} */ text, /** @type {number} */ row) =>
    row < 0 ? colors.bold(text) : text;
  for (const line of tableLines(COLUMNS, results.map(toCells), { style })) printLine(line);
  const processor = `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'CPU'}`;
  printLine(`\nNode ${process.version}, ${processor}; what else runs here counts too.`);
}

const defaultRoot = () => (process.platform === 'linux' ? '/dev/shm' : tmpdir());

/** @param {import('commander').Command} program */
function add(program) {
  program
    .command('bench-peer', { hidden: true })
    .argument('<place>')
    .action((place) => servePeer(openLockManager(JSON.parse(place))));
  return program
    .command('bench')
    .description('measure on this machine, for about a minute: requests, hand-offs, deaths')
    .option(
      '--seconds <seconds>',
      'for each figure',
      toMilliseconds,
      DEFAULT_SECONDS * MS_PER_SECOND,
    )
    .option('--json', 'one JSON object per figure')
    .action(bench);
}

module.exports = { add };
