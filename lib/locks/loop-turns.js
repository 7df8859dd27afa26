'use strict';

const { setImmediate } = require('node:timers');

/**
 * Callbacks of granted locks run in microtasks, because a turn of the event loop for each would
 * cost several times the grant. A long run of them would keep timers and I/O waiting, so after this
 * many the next ones wait for a new turn.
 */
const CALLBACKS_PER_TURN = 128;

/**
 * @type {{ open: (value: any) => void, value: unknown }[]} oldest first; empty while callbacks are
 *   left
 */
const waiting = [];
let callbacksLeft = CALLBACKS_PER_TURN;

function startTurn() {
  callbacksLeft = CALLBACKS_PER_TURN;
  const batch = waiting.splice(0, CALLBACKS_PER_TURN);
  callbacksLeft -= batch.length;
  if (waiting.length > 0) setImmediate(startTurn);
  for (const { open, value } of batch) open(value);
}

/**
 * Calls `open(value)`, which resolves a promise, now or in a later turn of the event loop, in the
 * order of the calls.
 * @template T
 * @param {(value: T) => void} open
 * @param {T} value
 */
function openInTurn(open, value) {
  if (callbacksLeft > 0) {
    callbacksLeft -= 1;
    open(value);
    return;
  }
  if (waiting.length === 0) setImmediate(startTurn);
  waiting.push({ open, value });
}

/**
 * A promise of `value` that openInTurn() resolves.
 * @template T
 * @param {T} value
 * @returns {Promise<T>}
 */
function promiseInTurn(value) {
  if (callbacksLeft > 0) {
    callbacksLeft -= 1;
    return Promise.resolve(value);
  }
  return new Promise((open) => openInTurn(/** @type {(value: T) => void} */ (open), value));
}

module.exports = { CALLBACKS_PER_TURN, openInTurn, promiseInTurn };
