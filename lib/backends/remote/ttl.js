'use strict';

/** How long a session outlives the silence of its agent, in seconds, as a URL has it. */
const DEFAULT_TTL_S = 10;
/** etcd keeps no lease that is shorter than an election may take. */
const MIN_TTL_S = 2;
const MAX_TTL_S = 3600;

const TTL_RANGE = `is not a whole number of seconds, ${MIN_TTL_S} to ${MAX_TTL_S}`;

/** @param {number} seconds */
const isTtl = (seconds) =>
  Number.isInteger(seconds) && seconds >= MIN_TTL_S && seconds <= MAX_TTL_S;

module.exports = { DEFAULT_TTL_S, TTL_RANGE, isTtl };
