'use strict';

const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');
const { performance } = require('node:perf_hooks');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { mkdtempSync, rmSync } = require('node:fs');
const { cpus, tmpdir } = require('node:os');
const path = require('node:path');
const { Option } = require('commander');
const { openLockManager } = require('holdfast');
const { colors, printLine, toJson } = require('./output.js');
const { toMilliseconds } = require('./seconds.js');
const { tableLines } = require('./table.js');
const { clusterUrl, openManager, urlToOpen } = require('./table-options.js');

/** @typedef {import('holdfast').LockManager} LockManager */

/** A process beside this one, which holds or contends for a lock on command. */
class Peer {
  #child;
  /** @type {((line: string) => void)[]} */
  #waiting = [];

  /** @param {import('node:child_process').ChildProcess} child */
  constructor(child) {
    this.#child = child;
    const lines = createInterface({ input: /** @type {any} */ (child.stdout) });
    lines.on('line', (line) => this.#waiting.shift()?.(line));
  }

  /** @param {object} address  of openLockManager() */
  static start(address) {
    const program = [process.argv[1], 'bench-peer', JSON.stringify(address)];
    const stdio = /** @type {const} */ (['pipe', 'pipe', 'inherit']);
    return new Peer(
      spawn(process.execPath, [...process.execArgv, ...program], { stdio: [...stdio] }),
    );
  }

  /**
   * @param {string} command
   * @returns {Promise<string>} its answer
   */
  call(command) {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin?.write(`${command}\n`);
    });
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  /** @returns {Promise<void>} */
  end() {
    return new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) resolve();
      else this.#child.once('exit', () => resolve());
      this.#child.stdin?.end();
    });
  }
}

/**
 * The work of the process beside: a command on each line, answered by a line.
 * @param {LockManager} manager
 */
function servePeer(manager) {
  const commands = createInterface({ input: process.stdin });
  let isContending = false;
  let turns = 0;
  /** @type {import('holdfast').LockHandle | undefined} */
  let held;
  const contend = async () => {
    for (; isContending; turns += 1) await manager.request('hand-off', () => {});
  };
  /** @type {Record<string, () => unknown>} */
  const actions = {
    hold: async () => (held = await manager.acquire('held')),
    release: () => held?.release(),
    contend: () => {
      isContending = true;
      void contend();
    },
    stop: () => (isContending = false),
  };
  commands.on('line', async (command) => {
    await actions[command]?.();
    process.stdout.write(`${turns}\n`);
  });
  commands.on('close', () => process.exit());
}

/** @typedef {{ title: string, medianNs: number, p99Ns: number, perSecond?: number }} Result */
/** @typedef {{ manager: LockManager, title: string, ms: number, start: () => Peer }} Context */

const BATCH = 1_000;
const NS_PER_MS = 1e6;
const NS_PER_SECOND = 1e9;
const DEATHS = 20;
const WARM_UP_MS = 300;
const P99 = 0.99;
const HELD_NAMES = 1_000;

/** @param {string} title @param {number[]} times  ns @param {boolean} [isRate] @returns {Result} */
function summarize(title, times, isRate = true) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const medianNs = at(1 / 2);
  return {
    title,
    medianNs,
    p99Ns: at(P99),
    perSecond: isRate ? NS_PER_SECOND / medianNs : undefined,
  };
}

/**
 * The time of one operation, by batches, after a warm-up.
 * @param {Context} context
 * @param {(count: number) => Promise<void> | void} batch
 * @param {number} [size]
 */
async function timeBatches({ title, ms }, batch, size = BATCH) {
  const warm = performance.now() + Math.min(WARM_UP_MS, ms);
  while (performance.now() < warm) await batch(size);
  const times = [];
  const end = performance.now() + ms;
  do {
    const start = performance.now();
    await batch(size);
    times.push(((performance.now() - start) * NS_PER_MS) / size);
    await nextTurn(); // of the event loop, which receives Ctrl-C
  } while (performance.now() < end);
  return summarize(title, times);
}

/** @param {Context} context */
const uncontended = (context) =>
  timeBatches(context, async (count) => {
    for (let i = 0; i < count; i += 1) await context.manager.request('alone', () => {});
  });

/** @param {Context} context */
const handles = (context) =>
  timeBatches(context, async (count) => {
    for (let i = 0; i < count; i += 1) (await context.manager.acquire('alone')).release();
  });

/** @param {Context} context */
const synchronous = (context) =>
  timeBatches(context, (count) => {
    for (let i = 0; i < count; i += 1) context.manager.requestSync('alone', () => {});
  });

/** @param {Context} context */
async function refused(context) {
  const peer = context.start();
  await peer.call('hold');
  const result = await timeBatches(context, async (count) => {
    for (let i = 0; i < count; i += 1) {
      await context.manager.request('held', { ifAvailable: true }, () => {});
    }
  });
  await peer.end();
  return result;
}

/** @param {Context} context */
async function handOff(context) {
  const peer = context.start();
  await peer.call('contend');
  const result = await timeBatches(context, async (count) => {
    for (let i = 0; i < count; i += 1) await context.manager.request('hand-off', () => {});
  });
  await peer.call('stop');
  await peer.end();
  return result;
}

/** @param {Context} context */
async function deaths(context) {
  const times = [];
  for (let i = 0; i < DEATHS; i += 1) {
    const peer = context.start();
    await peer.call('hold');
    const granted = context.manager.request('held', () => performance.now());
    const killedAt = performance.now();
    peer.kill();
    times.push(((await granted) - killedAt) * NS_PER_MS);
    await peer.end();
  }
  return summarize(context.title, times, false);
}

/** @param {Context} context */
async function inspections(context) {
  const names = Array.from({ length: HELD_NAMES }, (_, i) => `inspected ${i}`);
  return context.manager.requestAll(names, () =>
    timeBatches(
      context,
      async (count) => {
        for (let i = 0; i < count; i += 1) await context.manager.query();
      },
      1,
    ),
  );
}

/** @type {readonly { title: string, run: (context: Context) => Promise<Result> }[]} */
const SCENARIOS = [
  { title: 'request(), uncontended', run: uncontended },
  { title: 'acquire() and release(), uncontended', run: handles },
  { title: 'requestSync(), uncontended', run: synchronous },
  { title: 'request() with ifAvailable, refused', run: refused },
  { title: 'request() in turns with another process', run: handOff },
  { title: 'from the kill of a holder to the grant', run: deaths },
  { title: 'query() of 1,000 locks', run: inspections },
];

const DEFAULT_SECONDS = 8;
const MS_PER_SECOND = 1_000;
const NS_PER_US = 1_000;
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** @param {number} ns */
function formatTime(ns) {
  const us = (ns / NS_PER_US).toFixed(2);
  if (Math.round(ns) < NS_PER_US) return `${Math.round(ns)} ns`;
  if (Number(us) < NS_PER_MS / NS_PER_US) return `${us} µs`;
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
    process.kill(process.pid, signal); // as if there had been no listener
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  return end;
}

/** @param {{ url?: string, directory?: string, seconds: number, json?: boolean }} options */
async function bench({ url = clusterUrl({}), directory, seconds: ms, json }) {
  // A separate table: other programs do not disturb the figures, and are not disturbed.
  const own = mkdtempSync(path.join(directory ?? defaultRoot(), 'holdfast-bench-'));
  const removeOwn = () => rmSync(own, { recursive: true, force: true });
  process.on('exit', removeOwn);
  const isOwn = url === undefined;
  const address = isOwn ? { directory: own, url: urlToOpen({}) } : { url, bucket: 'bench' };
  const manager = openManager(address);
  const endWatching = onInterruption(removeOwn);
  const results = [];
  try {
    for (const scenario of SCENARIOS) {
      if (!json && process.stderr.isTTY) process.stderr.write(`\r${scenario.title} …\u001b[K`);
      const start = () => Peer.start(address);
      results.push(await scenario.run({ manager, title: scenario.title, ms, start }));
    }
  } finally {
    endWatching();
    manager.close();
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
    .argument('<address>')
    .action((address) => servePeer(openLockManager(JSON.parse(address))));
  return program
    .command('bench')
    .description('measure on this machine, for about a minute: requests, hand-offs, deaths')
    .addOption(
      new Option('--seconds <seconds>', 'for each figure')
        .default(DEFAULT_SECONDS * MS_PER_SECOND, String(DEFAULT_SECONDS))
        .argParser(toMilliseconds),
    )
    .option('--json', 'one JSON object per figure')
    .action(bench);
}

module.exports = { add };
