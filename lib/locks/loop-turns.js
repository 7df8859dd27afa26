'use strict';

const { performance, queueMicrotask, setImmediate } = require('../time.js');

/**
 * Callbacks of granted locks run in microtasks, because a turn of the event loop for each would
 * cost several times the grant. A long run of them would delay timers and I/O. So once both limits
 * below are reached since the last known turn, further callbacks wait for a new turn.
 */
const CALLBACKS_PER_LOOK = 128;
const TURN_MS = 0.5;

/** @typedef {{ open(): void }} Waiting  whose open() lets a callback run in a microtask */

/** @type {Waiting[]} the callbacks that wait for a turn, from index `first` on, oldest first */
let waiting = [];
let first = 0;
let callbacksLeft = CALLBACKS_PER_LOOK;
let turnStart = -Infinity;

/**
 * Whether the callback of a lock may run now. If not, it and all later ones have to call
 * waitForTurn(), so that none overtakes another.
 */
function mayRunInTurn() {
  if (callbacksLeft === 0 && !mayRunMore()) return false;
  callbacksLeft -= 1;
  return true;
}

function mayRunMore() {
  if (waiting.length > 0 || isTurnOver()) return false;
  callbacksLeft = CALLBACKS_PER_LOOK;
  return true;
}

/** Reading the clock costs a tenth of a lock. */
function isTurnOver() {
  return performance.now() - turnStart >= TURN_MS;
}

/**
 * Opens the request in a later turn of the event loop, and those that follow after it.
 * @param {Waiting} request
 */
function waitForTurn(request) {
  if (waiting.length === 0) setImmediate(startTurn);
  waiting.push(request);
  callbacksLeft = 0;
}

function startTurn() {
  turnStart = performance.now();
  openSome();
}

function openSome() {
  const batch = waiting.slice(first, first + CALLBACKS_PER_LOOK);
  callbacksLeft = CALLBACKS_PER_LOOK - batch.length;
  first += batch.length;
  // Compacts rarely: at every removal, the cost would grow with the number of waiting callbacks.
  if (2 * first >= waiting.length) [waiting, first] = [waiting.slice(first), 0];
  for (const request of batch) request.open();
  if (waiting.length > 0) queueMicrotask(goOn); // continue after their callbacks have run
}

function goOn() {
  if (isTurnOver()) setImmediate(startTurn);
  else openSome();
}

module.exports = { CALLBACKS_PER_LOOK, TURN_MS, mayRunInTurn, waitForTurn };
