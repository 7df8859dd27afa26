'use strict';

// The timers, clocks and microtasks of this package, taken once, when it loads. A program that
// replaces them later, as tests with fake timers do, does not stop its locks. The asynchronous
// context of the load is taken, too.

const { AsyncResource } = require('node:async_hooks'); // Node has loaded it

const {
  clearInterval,
  clearTimeout,
  setImmediate,
  setInterval,
  setTimeout,
} = require('node:timers');

const { queueMicrotask } = globalThis;
const { nextTick } = process;
const dateNow = Date.now;

/** In nanoseconds; on Node by a clock that all processes of the machine have in common. */
const hrtimeNs = process.hrtime.bigint;

/**
 * The clock of the prototype: fake clocks are put on the object itself, where Bun has the real one.
 * So the clock can be taken at the first use, and node:perf_hooks is not loaded before.
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

const contextAtLoad = new AsyncResource('HOLDFAST');

module.exports = {
  /**
   * Calls a function that opens something for longer than a request. The opened object is to keep
   * nothing that the program has in an AsyncLocalStorage during that request.
   * @template T
   * @param {() => T} open
   * @returns {T}
   */
  inContextAtLoad: (open) => contextAtLoad.runInAsyncScope(open),
  /**
   * `apply(then, promise, [callback])` calls no function of a program and none in JavaScript, which
   * would throw at the end of the stack. With RESOLVED it is a microtask, for a callback that does
   * not throw: queueMicrotask() takes several times as long.
   */
  apply: Reflect.apply,
  then: Promise.prototype.then,
  RESOLVED: Promise.resolve(),
  clearInterval,
  clearTimeout,
  dateNow,
  hrtimeNs,
  nextTick,
  performance,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
};
