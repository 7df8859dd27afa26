'use strict';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Cuts off smaller units: a rounded 59.96 s would be '60.0 s'.
 * @param {number | null} ms
 * @returns {string} short, such as '480 ms', '12.3 s', '3 m 20 s', '2 d 4 h'
 */
function formatDuration(ms) {
  if (ms === null) return '';
  if (ms < SECOND) return `${Math.floor(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} m`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

/**
 * @param {number} time  ms since 1970
 * @returns {string} the local time of day
 */
function formatTime(time) {
  const date = new Date(time);
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

module.exports = { formatDuration, formatTime };
