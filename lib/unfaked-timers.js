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

const settled = Promise.resolve();

/** @param {() => void} callback */
const runInMicrotask = (callback) => void settled.then(callback);

module.exports = { findRealDateNow, findRealTimers, runInMicrotask };
