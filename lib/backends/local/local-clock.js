'use strict';

const { performance } = require('../../time.js');

/**
 * The clock with which a lock table measures waits and holds, in milliseconds with fractions.
 * @typedef {object} LocalClock
 * @property {() => number} now
 * @property {(t: number) => number} toWall  milliseconds since 1970
 */

/** @type {LocalClock} of this process */
const LOCAL_CLOCK = {
  now: () => performance.now(),
  toWall: (t) => performance.timeOrigin + t,
};

module.exports = { LOCAL_CLOCK };
