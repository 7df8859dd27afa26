'use strict';

// What a request costs when 1,000, 10,000 or 100,000 of them wait or hold at once.
//
//   node bench/queue-length.js [--json] [--rounds N] [--backend shared-memory | local]
//
// The sizes take turns within a round, so that whatever else the machine does meets all of them;
// each size makes the same number of requests in a round. Medians over the rounds.
//
// Everything twice: in V8's usual heap, where whatever lives long is copied by the collector on its
// way to the old generation, so that even bare promises cost more each the more of them wait (the
// first row); and in a heap whose young generation has room for all, where the lock table shows.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { createLocalLockManager, openLockManager } = require('..');
const { LOADS } = require('./lock-loads.js');

const SIZES = [1_000, 10_000, 100_000];
const LARGEST = SIZES[SIZES.length - 1];
const HEAPS = [
  { title: "V8's usual heap", flags: [] },
  {
    title: 'a young generation of 256 MiB',
    flags: ['--min-semi-space-size=256', '--max-semi-space-size=256'],
  },
];
/** Callbacks per turn of the loop, as for locks. */
const PER_TURN = 128;

/**
 * What a request is for JavaScript, without a lock: a promise that waits, a callback, a result.
 * @type {import('./lock-loads.js').Load}
 */
const PROMISES = {
  title: 'no lock: promises that wait, resolved in turn',
  async run(_locks, count) {
    /** @type {((value?: any) => void)[]} */
    const opens = [];
    const requests = [];
    for (let i = 0; i < count; i += 1) {
      const opened = new Promise((open) => opens.push(open));
      requests.push(new Promise((resolve) => opened.then(() => resolve(i))));
    }
    for (let i = 0; i < count; i += 1) {
      opens[i]();
      if (i % PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(requests);
  },
};

/** @param {number[]} values */
function medianOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/**
 * @param {import('./lock-loads.js').Load} load
 * @param {import('../types').LockManager} locks
 * @param {number} size
 * @returns {Promise<number>} ns per request
 */
async function measure(load, locks, size) {
  const start = process.hrtime.bigint();
  for (let made = 0; made < LARGEST; made += size) await load.run(locks, size);
  return Number(process.hrtime.bigint() - start) / LARGEST;
}

/**
 * @param {import('./lock-loads.js').Load} load
 * @param {import('../types').LockManager} locks
 * @param {number} rounds
 */
async function measureLoad(load, locks, rounds) {
  /** @type {Map<number, number[]>} */
  const times = new Map(SIZES.map((size) => [size, []]));
  for (const size of SIZES) await measure(load, locks, size); // warms up
  for (let round = 0; round < rounds; round += 1) {
    for (const [size, list] of times) list.push(await measure(load, locks, size));
  }
  const medians = [...times.values()].map(medianOf);
  return {
    title: load.title,
    nsPerRequest: Object.fromEntries(SIZES.map((size, i) => [size, Math.round(medians[i])])),
    ratio: Number((medians[medians.length - 1] / medians[0]).toFixed(2)),
  };
}

/** @param {Awaited<ReturnType<typeof measureLoad>>[]} results */
function toTable(results) {
  const header = ['ns per request', ...SIZES.map(String), `${LARGEST} : ${SIZES[0]}`];
  const rows = results.map(({ title, nsPerRequest, ratio }) => [
    title,
    ...SIZES.map((size) => String(nsPerRequest[size])),
    ratio.toFixed(2),
  ]);
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i].length)));
  return [header, ...rows]
    .map(([title, ...cells]) =>
      [title.padEnd(widths[0]), ...cells.map((cell, i) => cell.padStart(widths[i + 1]))].join('  '),
    )
    .join('\n');
}

/**
 * In this process.
 * @param {string} backend
 * @param {number} rounds
 */
async function measureAll(backend, rounds) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bench-'));
  const locks = backend === 'local' ? createLocalLockManager() : openLockManager({ directory });
  try {
    const results = [];
    for (const load of [PROMISES, ...Object.values(LOADS)]) {
      results.push(await measureLoad(load, locks, rounds));
    }
    return results;
  } finally {
    locks.close();
    fs.rmSync(directory, { recursive: true });
  }
}

/** @param {string[]} flags */
function measureInHeap(flags) {
  const options = [...flags, __filename, ...process.argv.slice(2), '--in-this-process'];
  const child = spawnSync(process.execPath, options, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.status !== 0) throw new Error(`the measurement ended with ${child.status}`);
  return JSON.parse(child.stdout);
}

async function main() {
  const { values } = parseArgs({
    options: {
      backend: { type: 'string', default: 'shared-memory' },
      'in-this-process': { type: 'boolean' },
      json: { type: 'boolean' },
      rounds: { type: 'string', default: '7' },
    },
  });
  if (values['in-this-process']) {
    console.log(JSON.stringify(await measureAll(values.backend, Number(values.rounds))));
    return;
  }
  const heaps = HEAPS.map(({ title, flags }) => ({ heap: title, results: measureInHeap(flags) }));
  if (values.json) {
    console.log(JSON.stringify(heaps));
  } else {
    for (const { heap, results } of heaps) console.log(`In ${heap}:\n${toTable(results)}\n`);
  }
}

main();
