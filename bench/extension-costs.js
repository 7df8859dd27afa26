'use strict';

// The cost of each feature beyond the standard, as a ratio to the plain request.
//
//   node bench/extension-costs.js [--json] [--rounds N] [--backend shared-memory | local]
//
// All take turns within a round, in one process, so that whatever else the machine does meets all
// of them. Medians over the rounds.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Mutex, Semaphore, createLocalLockManager, openLockManager } = require('..');

/** @typedef {import('../types').LockManager} LockManager */
/** @typedef {(count: number) => Promise<void>} Load  makes so many requests */

const BATCH = 2_000;
const nothing = () => {};

/**
 * One after the other.
 * @param {() => Promise<unknown>} once
 * @returns {Load}
 */
const repeat = (once) => async (count) => {
  for (let i = 0; i < count; i += 1) await once();
};

/**
 * All at once, behind a holder.
 * @param {LockManager} locks
 * @param {import('../types').LockOptions} options
 * @returns {Load}
 */
const queue = (locks, options) => async (count) => {
  const holder = await locks.acquire('queue');
  const requests = Array.from({ length: count }, () => locks.request('queue', options, nothing));
  holder.release();
  await Promise.all(requests);
};

/**
 * @param {LockManager} locks
 * @param {import('../types').LockOptions} options
 */
const request = (locks, options) => repeat(() => locks.request('a', options, nothing));

/** @param {LockManager} locks */
function createMutexLoads(locks) {
  const named = new Mutex('mutex', { manager: locks });
  const own = new Mutex();
  const semaphore = new Semaphore('semaphore', 3, { manager: locks });
  return {
    'new Mutex(name).runExclusive()': repeat(() => named.runExclusive(nothing)),
    'new Mutex().runExclusive(), private': repeat(() => own.runExclusive(nothing)),
    'new Mutex().acquire(), private': repeat(async () => (await own.acquire())()),
    'new Semaphore(name, 3).runExclusive()': repeat(() => semaphore.runExclusive(nothing)),
  };
}

/**
 * The first of each group is what the others are compared with.
 * @param {LockManager} locks
 * @returns {Record<string, Load>[]}
 */
function createLoads(locks) {
  const uncontended = {
    'a plain request': request(locks, {}),
    label: request(locks, { label: 'nightly report' }),
    limit: request(locks, { mode: 'shared', limit: 3 }),
    holdLimit: request(locks, { holdLimit: 60_000 }),
    timeout: request(locks, { timeout: 60_000 }),
    'lock.signal': repeat(() => locks.request('a', (lock) => void lock.signal)),
    'acquire() and release()': repeat(async () => (await locks.acquire('a')).release()),
    'requestAll() of one name': repeat(() => locks.requestAll(['a'], nothing)),
    'requestAll() of three names': repeat(() => locks.requestAll(['a', 'b', 'c'], nothing)),
    ...createMutexLoads(locks),
  };
  const queued = {
    'a plain request that is queued': queue(locks, {}),
    'timeout, queued': queue(locks, { timeout: 60_000 }),
    'holdLimit, queued': queue(locks, { holdLimit: 60_000 }),
  };
  return [uncontended, queued];
}

/** @param {number[]} values */
function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** @param {Load} load */
async function measure(load) {
  const start = process.hrtime.bigint();
  await load(BATCH);
  return Number(process.hrtime.bigint() - start) / BATCH;
}

/**
 * @param {Record<string, Load>} loads
 * @param {number} rounds
 */
async function measureGroup(loads, rounds) {
  const titles = Object.keys(loads);
  /** @type {Map<string, number[]>} */
  const times = new Map(titles.map((title) => [title, []]));
  for (let round = -2; round < rounds; round += 1) {
    for (const title of titles) {
      const ns = await measure(loads[title]);
      if (round >= 0) times.get(title)?.push(ns); // the first ones warm up
    }
  }
  const base = /** @type {number[]} */ (times.get(titles[0]));
  return titles.map((title) => {
    const list = /** @type {number[]} */ (times.get(title));
    const ratio = medianOf(list.map((ns, round) => ns / base[round]));
    return { title, nsPerRequest: Math.round(medianOf(list)), ratio: Number(ratio.toFixed(2)) };
  });
}

async function main() {
  const { values } = parseArgs({
    options: {
      backend: { type: 'string', default: 'shared-memory' },
      json: { type: 'boolean' },
      rounds: { type: 'string', default: '25' },
    },
  });
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bench-'));
  const isLocal = values.backend === 'local';
  const locks = isLocal ? createLocalLockManager() : openLockManager({ directory });
  const results = [];
  for (const loads of createLoads(locks)) {
    results.push(...(await measureGroup(loads, Number(values.rounds))));
  }
  locks.close();
  fs.rmSync(directory, { recursive: true });
  if (values.json) {
    console.log(JSON.stringify(results));
    return;
  }
  for (const { title, nsPerRequest, ratio } of results) {
    console.log(`${title.padEnd(40)} ${String(nsPerRequest).padStart(6)} ns  ${ratio.toFixed(2)}`);
  }
}

main();
