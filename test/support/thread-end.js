'use strict';

const { readdirSync } = require('node:fs');

/** The threads of this process, as the kernel numbers them. */
const threads = () => new Set(readdirSync('/proc/self/task'));

/**
 * Lets an action start a thread, and blocks this one until that one is gone: all that it had to say
 * has been sent.
 * @template T
 * @param {() => T} start
 * @returns {T}
 */
function awaitThreadOf(start) {
  const before = threads();
  const result = start();
  const started = [...threads()].filter((id) => !before.has(id));
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let left = threads(); started.some((id) => left.has(id)); left = threads()) {
    Atomics.wait(cell, 0, 0, 1);
  }
  return result;
}

module.exports = { awaitThreadOf };
