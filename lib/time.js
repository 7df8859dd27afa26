'use strict';

const {
  clearInterval,
  clearTimeout,
  setImmediate,
  setInterval,
  setTimeout,
} = require('node:timers');
const { lazy } = require('./lazy.js');
const { areTimersReal } = require('./node-internals.js');

/**
 * The timers and clocks of this package, taken once, when it loads: a test that puts fake ones in
 * the place of Node's later must not stop the locks of the program that it tests.
 */

const realDateNow = lazy(() => require('./unfaked-timers.js').findRealDateNow());
const dateNow = isNative(Date.now) ? Date.now : () => realDateNow()();
/**
 * That of the prototype: fake clocks are put on the object itself, where Bun has the real one. So
 * it can be taken at the first use, and node:perf_hooks is not loaded before.
 */
function openClock() {
  const { performance: nodePerformance } = require('node:perf_hooks');
  const now = Object.getPrototypeOf(nodePerformance).now ?? nodePerformance.now;
  const { timeOrigin } = nodePerformance;
  return { now: now.bind(nodePerformance), timeOrigin };
}
/** @type {ReturnType<typeof openClock> | undefined} */
let clock;
const performance = {
  now: () => (clock ??= openClock()).now(),
  get timeOrigin() {
    return (clock ??= openClock()).timeOrigin;
  },
};

const takenHrtime = process.hrtime.bigint;
const hrtime = lazy(() =>
  isRunning(takenHrtime) ? takenHrtime : require('./unfaked-timers.js').findRealHrtime(performance),
);

const taken = { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout };
/** Other runtimes have other timers; what fakes them is not looked for. */
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
/** The check sets a timer, so it waits for the first module that uses one. */
const timers = lazy(() =>
  !isNode || areTimersReal(taken) ? taken : require('./unfaked-timers.js').findRealTimers(),
);

/** Fake timers come with a fake queueMicrotask(), as a rule. Promises are not faked. */
const { queueMicrotask } = globalThis;
const microtasks = lazy(() =>
  timers() === taken ? queueMicrotask : require('./unfaked-timers.js').runInMicrotask,
);

/** A clock has to pass as much while the real one does, or it is fake. */
const LEAST_MS = 0.02;
const NS_PER_MS = 1e6;
/** Then the other clock stands still, and proves nothing. */
const MAX_LOOKS = 1e6;

/** @param {(() => bigint) | undefined} now  in nanoseconds; some fakes leave it out */
function isRunning(now) {
  if (now === undefined) return false;
  const before = now();
  const start = performance.now();
  for (let looks = 0; performance.now() - start < LEAST_MS; looks += 1) {
    if (looks === MAX_LOOKS) return true;
  }
  return now() - before >= LEAST_MS * NS_PER_MS;
}

/** @param {Function} method  of JavaScript itself */
function isNative(method) {
  return Function.prototype.toString.call(method).includes('[native code]');
}

module.exports = {
  dateNow,
  /** In nanoseconds; on Node by a clock that all processes of the machine have in common. */
  hrtimeNs: () => hrtime()(),
  performance,
  queueMicrotask: (/** @type {() => void} */ callback) => microtasks()(callback),
  get clearInterval() {
    return timers().clearInterval;
  },
  get clearTimeout() {
    return timers().clearTimeout;
  },
  get setImmediate() {
    return timers().setImmediate;
  },
  get setInterval() {
    return timers().setInterval;
  },
  get setTimeout() {
    return timers().setTimeout;
  },
};
