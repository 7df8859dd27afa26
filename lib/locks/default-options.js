'use strict';

/** @type {import('./lock-options.js').LockOptions} */
const DEFAULTS = Object.freeze({
  ifAvailable: false,
  mode: 'exclusive',
  signal: undefined,
  steal: false,
  extras: undefined,
  reentrant: false,
  timeout: Infinity,
});

module.exports = { DEFAULTS };
