'use strict';

const { Socket } = require('node:net');
const { runInNewContext } = require('node:vm');

/** As long as the socket lives, which is a moment. */
const ANY_MS = 1000;

/**
 * Node's own timers, where a test has put fake ones in their place before this package was loaded.
 * A socket has a real timer for its own timeout, whatever stands in node:timers; others are made by
 * the constructor of that one. `refresh()`, which is documented, starts them.
 * @returns {typeof import('node:timers')}
 */
function findRealTimers() {
  const Timeout = timerOfASocket().constructor;
  const start =
    (/** @type {boolean} */ isRepeated) =>
    (/** @type {Function} */ run, /** @type {number} */ ms, /** @type {unknown[]} */ ...args) =>
      Reflect.construct(Timeout, [run, ms, args, isRepeated, true]).refresh();
  const setTimeout = start(false);
  const clear = (/** @type {NodeJS.Timeout | undefined} */ timer) => timer?.close();
  return /** @type {any} */ ({
    clearInterval: clear,
    clearTimeout: clear,
    setImmediate: (/** @type {Function} */ callback, /** @type {unknown[]} */ ...args) =>
      setTimeout(callback, 1, ...args),
    setInterval: start(true),
    setTimeout,
  });
}

/** @returns {NodeJS.Timeout} no longer in use */
function timerOfASocket() {
  const socket = new Socket();
  socket.setTimeout(ANY_MS);
  const key = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'timeout',
  );
  const timer = /** @type {any} */ (socket)[/** @type {symbol} */ (key)];
  timer.close();
  return timer;
}

/** @returns {typeof Date.now} of a realm that nobody has changed */
const findRealDateNow = () => runInNewContext('Date.now');

/** Says in shared memory what time it is, until it is told to end. */
const CLOCK_THREAD = `
  const { workerData } = require('node:worker_threads');
  const isOver = new Int32Array(workerData, 0, 1);
  const time = new BigInt64Array(workerData, 8, 1);
  while (Atomics.load(isOver, 0) === 0) Atomics.store(time, 0, process.hrtime.bigint());`;
const NS_PER_MS = 1e6;
/** Good enough: two threads do not ask for a lock within that. */
const GOOD_ERROR_MS = 0.002;
/** What was found by then has to do. */
const MAX_SEARCH_MS = 200;
/** A thread starts within a tenth of a second; with much to do, the machine takes seconds. */
const MAX_START_MS = 30_000;

/**
 * process.hrtime.bigint() as another thread has it, whose clock nobody has changed: this thread's
 * own clock of performance.now(), which is real, and how far that one is ahead of it.
 * @param {{ now(): number }} performance
 * @returns {() => bigint}
 */
function findRealHrtime(performance) {
  const { Worker } = require('node:worker_threads');
  const memory = new SharedArrayBuffer(16);
  const worker = new Worker(CLOCK_THREAD, {
    eval: true,
    workerData: memory,
    execArgv: [],
    env: {},
  });
  worker.on('error', () => {}); // its time stands still
  worker.unref();
  try {
    const leadNs = BigInt(Math.round(measureLead(performance, memory) * NS_PER_MS));
    return () => BigInt(Math.round(performance.now() * NS_PER_MS)) + leadNs;
  } finally {
    Atomics.store(new Int32Array(memory), 0, 1);
  }
}

/**
 * The other thread has written a time that is new between the last two looks at it.
 * @param {{ now(): number }} performance
 * @param {SharedArrayBuffer} memory
 * @returns {number} in milliseconds
 */
function measureLead(performance, memory) {
  const time = new BigInt64Array(memory, 8, 1);
  let last = { at: performance.now(), time: 0n };
  let lead = 0;
  let error = Infinity;
  let end = last.at + MAX_START_MS;
  while (error > GOOD_ERROR_MS && last.at < end) {
    const next = { at: performance.now(), time: Atomics.load(time, 0) };
    const width = performance.now() - last.at;
    if (next.time !== last.time && width < error) {
      if (error === Infinity) end = next.at + MAX_SEARCH_MS;
      error = width;
      lead = Number(next.time) / NS_PER_MS - (last.at + width / 2);
    }
    last = next;
  }
  if (error < Infinity) return lead;
  throw new Error('process.hrtime() is fake, and there is no thread that has the real one');
}

const settled = Promise.resolve();

/** @param {() => void} callback */
const runInMicrotask = (callback) => void settled.then(callback);

module.exports = { findRealDateNow, findRealHrtime, findRealTimers, runInMicrotask };
