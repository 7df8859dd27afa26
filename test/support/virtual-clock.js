'use strict';

const timers = require('node:timers');
const { performance } = require('node:perf_hooks');

/** In one turn of the event loop: what is on its way takes some. */
const MAX_STEP_MS = 5;

/** Time that passes on a call: an hour of waiting takes as long as the work in it. */
class VirtualClock {
  #now = 0;
  /** @type {Map<object, { at: number, fire(): void }>} in the order in which they were started */
  #waiting = new Map();

  /** Stands in for node:timers; an interval is left to the real ones. */
  timers = {
    ...timers,
    setTimeout: (callback, delay, ...args) => {
      const timer = { ref: () => timer, unref: () => timer, hasRef: () => false };
      this.#waiting.set(timer, { at: this.#now + delay, fire: () => callback(...args) });
      return timer;
    },
    clearTimeout: (timer) => this.#waiting.delete(timer),
  };

  /** Stands in for node:perf_hooks. */
  performance = { timeOrigin: performance.timeOrigin, now: () => this.#now };

  /** Resolves `ms` later on this clock. */
  sleep(ms) {
    return new Promise((resolve) => this.timers.setTimeout(resolve, ms));
  }

  /**
   * Lets time pass: timers fire in their order. The work of one timer may run for a turn of the
   * event loop, or more, before the next.
   */
  async pass(ms) {
    for (const end = this.#now + ms; this.#now < end;) {
      await new Promise((resolve) => timers.setImmediate(resolve));
      const [timer, { at, fire }] = this.#next() ?? [undefined, { at: end }];
      const isDue = at <= this.#now + MAX_STEP_MS && at <= end;
      this.#now = isDue ? Math.max(at, this.#now) : Math.min(this.#now + MAX_STEP_MS, end);
      if (!isDue || timer === undefined) continue;
      this.#waiting.delete(timer);
      fire();
    }
  }

  #next() {
    let first;
    for (const entry of this.#waiting) {
      if (first === undefined || entry[1].at < first[1].at) first = entry;
    }
    return first;
  }
}

module.exports = { VirtualClock };
