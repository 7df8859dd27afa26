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

/** What the word says that two threads share. */
const ASKED = 1;
const OVER = 2;
/** Says what time it is as often as it is asked. */
const CLOCK_THREAD = `
  const { workerData } = require('node:worker_threads');
  const word = new Int32Array(workerData, 0, 1);
  const time = new BigInt64Array(workerData, 8, 1);
  for (;;) {
    Atomics.wait(word, 0, 0);
    if (Atomics.load(word, 0) === ${OVER}) break;
    time[0] = process.hrtime.bigint();
    Atomics.compareExchange(word, 0, ${ASKED}, 0);
    Atomics.notify(word, 0);
  }`;
const NS_PER_MS = 1e6;
/** Good enough: two threads do not ask for a lock within that. */
const GOOD_ERROR_MS = 0.02;
const MAX_QUESTIONS = 200;
/** A thread starts within a tenth of a second; with much to do, the machine takes seconds. */
const MAX_WAIT_MS = 10_000;

/**
 * process.hrtime.bigint() as another thread has it, whose clock nobody has changed: this thread's
 * own clock of performance.now(), which is real, and how far that one is ahead of it. Where no
 * thread can be started it is a clock of its own, as in another time namespace.
 * @param {{ now(): number, timeOrigin: number }} performance
 * @returns {() => bigint}
 */
function findRealHrtime(performance) {
  const memory = new SharedArrayBuffer(16);
  const word = new Int32Array(memory, 0, 1);
  let lead = performance.timeOrigin;
  try {
    const { Worker } = require('node:worker_threads');
    const worker = new Worker(CLOCK_THREAD, {
      eval: true,
      workerData: memory,
      execArgv: [],
      env: {},
    });
    worker.on('error', () => {}); // it does not answer
    worker.unref();
    lead = measureLead(performance, word, new BigInt64Array(memory, 8, 1)) ?? lead;
  } catch {
    // It is not allowed to, or there are too many.
  }
  Atomics.store(word, 0, OVER);
  Atomics.notify(word, 0);
  const leadNs = BigInt(Math.round(lead * NS_PER_MS));
  return () => BigInt(Math.round(performance.now() * NS_PER_MS)) + leadNs;
}

/**
 * By the answer that came soonest: it was read between the question and the answer.
 * @param {{ now(): number }} performance
 * @param {Int32Array} word
 * @param {BigInt64Array} time
 * @returns {number | undefined} in milliseconds
 */
function measureLead(performance, word, time) {
  let best = { lead: 0, error: Infinity };
  for (let i = 0; i < MAX_QUESTIONS && best.error > GOOD_ERROR_MS; i += 1) {
    const askedAt = performance.now();
    Atomics.store(word, 0, ASKED);
    Atomics.notify(word, 0);
    if (Atomics.wait(word, 0, ASKED, MAX_WAIT_MS) === 'timed-out') break;
    const error = (performance.now() - askedAt) / 2;
    if (error < best.error) best = { lead: Number(time[0]) / NS_PER_MS - (askedAt + error), error };
  }
  return best.error === Infinity ? undefined : best.lead;
}

const settled = Promise.resolve();

/** @param {() => void} callback */
const runInMicrotask = (callback) => void settled.then(callback);

module.exports = { findRealDateNow, findRealHrtime, findRealTimers, runInMicrotask };
