'use strict';

const { performance } = require('node:perf_hooks');
const { setImmediate: nextTurn } = require('node:timers/promises');

/** @typedef {import('holdfast').LockManager} LockManager */
/** @typedef {{ title: string, medianNs: number, p99Ns: number, perSecond?: number }} Result */
/** @typedef {import('./peer.js').Peer} Peer */
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
    await nextTurn(); // of the event loop, which hears of Ctrl-C
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
  await peer.ask('hold');
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
  await peer.ask('contend');
  const result = await timeBatches(context, async (count) => {
    for (let i = 0; i < count; i += 1) await context.manager.request('hand-off', () => {});
  });
  await peer.ask('stop');
  await peer.end();
  return result;
}

/** @param {Context} context */
async function deaths(context) {
  const times = [];
  for (let i = 0; i < DEATHS; i += 1) {
    const peer = context.start();
    await peer.ask('hold');
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
  { title: 'request(), nobody else', run: uncontended },
  { title: 'acquire() and release(), nobody else', run: handles },
  { title: 'requestSync(), nobody else', run: synchronous },
  { title: 'request() with ifAvailable, refused', run: refused },
  { title: 'request() in turns with another process', run: handOff },
  { title: 'from the kill of a holder to the grant', run: deaths },
  { title: 'query() of 1,000 locks', run: inspections },
];

module.exports = { SCENARIOS };
