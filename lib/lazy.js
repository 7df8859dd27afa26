'use strict';

/**
 * What only some programs need is loaded when it is first used: a file costs up to half a
 * millisecond at every start of a process. Not for what is to hear of a grant, a loss or an end:
 * loading may fail, and fails without descriptors.
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
