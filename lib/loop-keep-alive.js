'use strict';

const { setInterval } = require('./time.js');

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** How many wait, of all objects of this thread: one timer serves them, made at the first use. */
let total = 0;
/** @type {NodeJS.Timeout | undefined} */
let timer = undefined;

/** @param {number} change */
function count(change) {
  total += change;
  timer ??= setInterval(() => {}, MAX_INTERVAL_MS);
  if (total === 0) timer.unref();
  else timer.ref();
}

/** Keeps the event loop alive while somebody waits for something that it does not know of. */
class LoopKeepAlive {
  #count = 0;

  /** One more waits. */
  ref() {
    this.#count += 1;
    if (this.#count === 1) count(1);
  }

  /** One of them waits no longer. */
  unref() {
    this.#count -= 1;
    if (this.#count === 0) count(-1);
  }

  /** For good: nobody waits any more. */
  end() {
    if (this.#count > 0) count(-1);
    this.#count = 0;
  }
}

module.exports = { LoopKeepAlive };
