'use strict';

// The cost of observers for the observed program: a request, uncontended, with and without each
// kind of observer.
//
//   node bench/observer-costs.js [--json] [--rounds N] [--names N] [--seconds N]
//
// --names: so many other locks are held, each waited for by ten, for the observers to look at.
// --seconds: of each turn. A page and metrics look closely for a part of the time only. So a turn
// must be longer than the second from one picture to the next.
//
// All observers take turns within a round, in whose other turns they do not exist. External
// observers are separate processes, as in use. On few cores they take their share of them, so the
// time that this process itself ran (CPU) stands beside the time that went by. Medians over the
// rounds. Also how many events were written for each request: two, where all are watched. This
// count is the cost of being observed, and no noise of the machine is in it.

const { spawn } = require('node:child_process');
const diagnostics = require('node:diagnostics_channel');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { parseArgs } = require('node:util');
const { openLockManager } = require('..');
const { LockMetrics } = require('../dist/metrics.js'); // of the same package as the locks above
const { median } = require('./harness/statistics.js');

/** @typedef {import('../types').LockManager} LockManager */
/** @typedef {{ end: () => unknown }} Observer */

const PROGRAM = path.join(__dirname, '..', 'dist', 'cli.js');
const BATCH = 2_000;
const NS_PER_US = 1_000;
const NS_PER_SECOND = 1e9;
const WAITERS = 10;
const nothing = () => {};

/**
 * A command of the command line tool, watching this bucket, once it has printed its first line.
 * @param {string[]} args
 * @param {string} directory
 */
async function startCommand(args, directory) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...process.env, HOLDFAST_DIR: directory },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const first = await new Promise((resolve) => lines.once('line', resolve));
  const end = () =>
    new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill();
    });
  return { first, end };
}

/** Resolves when the dashboard has sent its first picture. @param {string} url */
function openPage(url) {
  return new Promise((resolve, reject) => {
    const request = http.get(new URL('events', url), (response) => {
      response.on('data', (text) => {
        if (String(text).includes('event: picture')) resolve(request);
      });
    });
    request.on('error', (error) => {
      if (!request.destroyed) reject(error);
    });
  });
}

/** @param {LockManager} locks @param {'bucket' | 'process'} scope */
async function startMetrics(locks, scope) {
  const metrics = new LockMetrics({ manager: locks, scope });
  await metrics.collect();
  return { end: () => metrics.close() };
}

/** `watch` prints nothing before the first event. @param {LockManager} locks @param {string} dir */
async function startWatch(locks, dir) {
  let isWatching = false;
  const knock = setInterval(() => isWatching || locks.request('knock', nothing), 20);
  const command = await startCommand(['watch', '--json'], dir);
  isWatching = true;
  clearInterval(knock);
  return command;
}

/**
 * @param {LockManager} locks
 * @param {string} directory
 * @returns {Record<string, () => Promise<Observer>>} the first is what the others are compared with
 */
const observersOf = (locks, directory) => ({
  nobody: async () => ({ end: nothing }),
  'a dashboard without a page': () => startCommand(['dashboard', '--json'], directory),
  'a dashboard with a page': async () => {
    const command = await startCommand(['dashboard', '--json'], directory);
    const page = await openPage(JSON.parse(command.first).url);
    return { end: () => (page.destroy(), command.end()) };
  },
  'holdfast watch': () => startWatch(locks, directory),
  'metrics of the bucket, in this process': () => startMetrics(locks, 'bucket'),
  'metrics of this thread': () => startMetrics(locks, 'process'),
  'subscribers of all channels': async () => {
    const names = ['start', 'grant', 'end', 'miss', 'lost'].map((name) => `locks.request.${name}`);
    for (const name of names) diagnostics.subscribe(name, nothing);
    return { end: () => names.forEach((name) => diagnostics.unsubscribe(name, nothing)) };
  },
});

/**
 * All that is spent in the time, so that what an observer does now and then is part of it.
 * @param {LockManager} locks
 * @param {number} seconds
 */
async function measure(locks, seconds) {
  for (let i = 0; i < BATCH; i += 1) await locks.request('a', nothing);
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  let ns = 0;
  let requests = 0;
  while (ns < seconds * NS_PER_SECOND) {
    for (let i = 0; i < BATCH; i += 1) await locks.request('a', nothing);
    requests += BATCH;
    await new Promise((resolve) => setImmediate(resolve));
    ns = Number(process.hrtime.bigint() - start);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { ns: ns / requests, cpuNs: ((user + system) * NS_PER_US) / requests, requests };
}

/** The index, in the table's header, of the newest number of the watch ring. */
const LAST_ENTRY_AT = 192;

/** How many events have been written, ever. @param {string} directory */
function eventsWritten(directory) {
  const file = fs.openSync(path.join(directory, 'default', 'segment'), 'r');
  const word = Buffer.alloc(8);
  fs.readSync(file, word, 0, word.length, LAST_ENTRY_AT);
  fs.closeSync(file);
  return Number(word.readBigUInt64LE());
}

/** @param {LockManager} locks @param {number} names */
function fill(locks, names) {
  for (let i = 0; i < names; i += 1) {
    locks.request(`name ${i}`, () => new Promise(nothing)).catch(nothing);
    for (let n = 0; n < WAITERS; n += 1) locks.request(`name ${i}`, nothing).catch(nothing);
  }
}

/**
 * @param {LockManager} locks
 * @param {string} directory
 * @param {{ rounds: number, seconds: number }} options
 */
async function measureAll(locks, directory, { rounds, seconds }) {
  const observers = Object.entries(observersOf(locks, directory));
  const figures = observers.map(([title]) => ({
    title,
    ns: [],
    cpuNs: [],
    ratios: [],
    events: [],
  }));
  for (let round = -1; round < rounds; round += 1) {
    let base = NaN; // CPU: the elapsed time includes the observers
    for (const [at, [, start]] of observers.entries()) {
      const observer = await start();
      const before = eventsWritten(directory);
      const { ns, cpuNs, requests } = await measure(locks, round < 0 ? seconds / 4 : seconds);
      const events = (eventsWritten(directory) - before) / (requests + BATCH);
      await observer.end();
      if (at === 0) base = cpuNs;
      if (round < 0) continue; // it warms up
      figures[at].ns.push(ns);
      figures[at].cpuNs.push(cpuNs);
      figures[at].events.push(events);
      figures[at].ratios.push(cpuNs / base);
    }
  }
  return figures.map(({ title, ns, cpuNs, ratios, events }) => ({
    title,
    ns: Math.round(median(ns)),
    cpuNs: Math.round(median(cpuNs)),
    ratio: Number(median(ratios).toFixed(2)),
    eventsPerRequest: Number(median(events).toFixed(4)),
  }));
}

async function main() {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean' },
      names: { type: 'string', default: '0' },
      rounds: { type: 'string', default: '9' },
      seconds: { type: 'string', default: '2' },
    },
  });
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bench-'));
  const locks = openLockManager({ directory });
  await locks.query(); // makes the table
  fill(locks, Number(values.names));
  const results = await measureAll(locks, directory, {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
  });
  locks.close();
  fs.rmSync(directory, { recursive: true });
  if (values.json) {
    console.log(JSON.stringify(results));
    return;
  }
  for (const { title, ns, cpuNs, ratio, eventsPerRequest } of results) {
    const figures = [ns, cpuNs].map((value) => `${String(value).padStart(6)} ns`).join('  CPU ');
    const events = `${eventsPerRequest.toFixed(4)} events`;
    console.log(`${title.padEnd(40)} ${figures}  ${ratio.toFixed(2)}  ${events}`);
  }
}

main();
