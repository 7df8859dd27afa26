'use strict';

/**
 * Defers loading a module until its first use: a file costs up to half a millisecond at every start
 * of a process. Code that reports a grant, a loss or an end must not use it: loading can fail, for
 * example without a free file descriptor.
 * @template T
 * @param {() => T} load
 * @returns {() => T} loads once
 */
function lazy(load) {
  /** @type {{ value: T } | undefined} */
  let loaded;
  return () => {
    loaded ??= { value: load() };
    return loaded.value;
  };
}

module.exports = { lazy };
