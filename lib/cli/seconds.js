'use strict';

const { InvalidArgumentError } = require('commander');

const MS_PER_SECOND = 1_000;
/** The longest time of a timer. */
const MAX_MS = 2 ** 31 - 1;

/**
 * A time in seconds, as flock(1) takes it: '0', '5', '.007', '2.5'.
 * @param {string} text
 * @returns {number} milliseconds
 */
function toMilliseconds(text) {
  const ms = /^(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) * MS_PER_SECOND : NaN;
  if (ms <= MAX_MS) return ms;
  if (ms > MAX_MS) {
    const most = Math.floor(MAX_MS / MS_PER_SECOND);
    throw new InvalidArgumentError(`It is at most ${most} seconds, which is 24 days.`);
  }
  throw new InvalidArgumentError('It is a number of seconds, such as 2 or 0.5.');
}

/**
 * @param {number} min
 * @param {number} max
 * @returns {(text: string) => number} for an option
 */
const integerFrom = (min, max) => (text) => {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`);
};

module.exports = { integerFrom, toMilliseconds };
