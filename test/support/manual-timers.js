'use strict';

const timers = require('node:timers');

/** Delays from here on pass only on a call of the test. */
const FIRST_MANUAL_MS = 1_000_000;
/** A delay may come out shorter than it was asked for, by less than this. */
const STEP_MS = 100_000;

class ManualTimer {
  constructor(fire) {
    this.fire = fire;
  }

  unref() {
    return this;
  }
}

/** The timers of node:timers; those with a delay of delayOf() are fired by hand. */
function createManualTimers() {
  /** @type {Map<number, ManualTimer>} */
  const waiting = new Map();
  return {
    /** @param {number} id */
    delayOf: (id) => FIRST_MANUAL_MS + id * STEP_MS,
    /**
     * The time of this one has passed.
     * @returns {boolean} whether it was still waited for
     */
    fire(id) {
      const timer = waiting.get(id);
      timer?.fire();
      return timer !== undefined;
    },
    timers: {
      ...timers,
      setTimeout(callback, delay, ...args) {
        if (!(delay >= FIRST_MANUAL_MS - STEP_MS)) {
          return timers.setTimeout(callback, delay, ...args);
        }
        const id = Math.ceil((delay - FIRST_MANUAL_MS) / STEP_MS);
        const timer = new ManualTimer(() => {
          waiting.delete(id);
          callback(...args);
        });
        timer.id = id;
        waiting.set(id, timer);
        return timer;
      },
      clearTimeout(timer) {
        if (timer instanceof ManualTimer) waiting.delete(timer.id);
        else timers.clearTimeout(timer);
      },
    },
  };
}

module.exports = { createManualTimers };
