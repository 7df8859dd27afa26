'use strict';

const { clearInterval, inContextAtLoad, setImmediate, setInterval } = require('./time.js');

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/**
 * How many objects of this thread keep the loop alive. They share one timer.
 */
let total = 0;
/** @type {NodeJS.Timeout | undefined} */
let timer = undefined;
let isClearing = false;

/** @param {number} change */
function count(change) {
  total += change;
  timer ??= inContextAtLoad(() => setInterval(() => {}, MAX_INTERVAL_MS));
  if (total > 0) {
    timer.ref();
    return;
  }
  timer.unref();
  if (isClearing) return;
  isClearing = true; // once per turn of the loop: a new timer costs ten times as much as ref()
  setImmediate(clearUnused).unref();
}

/** A timer would keep this evaluation of the package, which the program may have dropped. */
function clearUnused() {
  isClearing = false;
  if (total > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** Keeps the event loop alive while a request waits for an event that the loop cannot see. */
class LoopKeepAlive {
  #count = 0;

  /** Adds a waiter. */
  ref() {
    this.#count += 1;
    if (this.#count === 1) count(1);
  }

  /** Removes a waiter. */
  unref() {
    this.#count -= 1;
    if (this.#count === 0) count(-1);
  }

  /** Removes all waiters, for good. */
  end() {
    if (this.#count > 0) count(-1);
    this.#count = 0;
  }
}

module.exports = { LoopKeepAlive };
