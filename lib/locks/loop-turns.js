'use strict';

const { performance, setImmediate } = require('../time.js');

/**
 * Callbacks of granted locks run in microtasks, because a turn of the event loop for each would
 * cost several times the grant. A long run of them would keep timers and I/O waiting: when so many
 * have run and so much time has passed since the last turn that they know of, the next ones wait
 * for a new turn.
 */
const CALLBACKS_PER_LOOK = 128;
const TURN_MS = 0.5;

/** @typedef {{ open(): void }} Waiting  whose open() lets a callback run in a microtask */

/** @type {Waiting[]} what waits for a turn, from `first` on, oldest first */
let waiting = [];
let first = 0;
let callbacksLeft = CALLBACKS_PER_LOOK;
let turnStart = -Infinity;

/**
 * Whether the callback of a lock may run now. One that may not has to waitForTurn(), and all that
 * come after it: none overtakes another.
 */
function mayRunInTurn() {
  if (callbacksLeft === 0 && waiting.length === 0 && !isTurnOver()) {
    callbacksLeft = CALLBACKS_PER_LOOK;
  }
  if (callbacksLeft === 0) return false;
  callbacksLeft -= 1;
  return true;
}

/** The clock costs as much as a tenth of a lock. */
function isTurnOver() {
  return performance.now() - turnStart >= TURN_MS;
}

/**
 * Opens it in a later turn of the event loop.
 * @param {Waiting} request
 */
function waitForTurn(request) {
  if (waiting.length === 0) setImmediate(startTurn);
  waiting.push(request);
}

function startTurn() {
  turnStart = performance.now();
  openSome();
}

function openSome() {
  const batch = waiting.slice(first, first + CALLBACKS_PER_LOOK);
  callbacksLeft = CALLBACKS_PER_LOOK - batch.length;
  first += batch.length;
  // Now and then only: each time would take a time that grows with the number of those that wait.
  if (2 * first >= waiting.length) [waiting, first] = [waiting.slice(first), 0];
  for (const request of batch) request.open();
  if (waiting.length > 0) Promise.resolve().then(goOn); // when their callbacks have run
}

function goOn() {
  if (isTurnOver()) setImmediate(startTurn);
  else openSome();
}

module.exports = { CALLBACKS_PER_LOOK, TURN_MS, mayRunInTurn, waitForTurn };
