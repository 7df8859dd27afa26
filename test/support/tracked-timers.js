'use strict';

const timers = require('node:timers');

/** The timers of node:timers, and how many of those that were started are still to come. */
function createTrackedTimers() {
  const live = new Set();
  const start =
    (startReal, isRepeated) =>
    (callback, ...args) => {
      const timer = startReal(
        (...values) => {
          if (!isRepeated) live.delete(timer);
          return callback(...values);
        },
        ...args,
      );
      live.add(timer);
      return timer;
    };
  const clear = (clearReal) => (timer) => {
    live.delete(timer);
    clearReal(timer);
  };
  return {
    live,
    timers: {
      ...timers,
      setTimeout: start(timers.setTimeout, false),
      setInterval: start(timers.setInterval, true),
      clearTimeout: clear(timers.clearTimeout),
      clearInterval: clear(timers.clearInterval),
    },
  };
}

module.exports = { createTrackedTimers };
