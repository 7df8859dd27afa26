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

/** An answer may wait for a session that begins, and for a watch that is silent. */
const MIN_ANSWER_MS = 10_000;

/**
 * The longest wait for an answer without a session.
 * @param {number} ttlMs
 */
const toAnswerMs = (ttlMs) => Math.max(ttlMs, MIN_ANSWER_MS);

module.exports = { DEFAULT_TTL_S, TTL_RANGE, isTtl, toAnswerMs };
