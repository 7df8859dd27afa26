'use strict';

/** @typedef {import('../../types/locks.d.ts').LockMode} LockMode */

/**
 * The grant rule of the lock tables in JavaScript; src/core/grantable.h has it for shared memory.
 * Standard: Web Locks, "grantable" (#concept-lock-request), for the first request of a strict
 * queue: its mode must be compatible with the held locks. Beyond the standard, `limit` is the
 * maximum number of shared holders, this request included.
 * @param {LockMode} mode
 * @param {number | null} limit  of a shared request; 0 or null: none
 * @param {number} exclusive  how many exclusive locks are held
 * @param {number} shared  how many shared locks are held
 * @returns {boolean}
 */
function isGrantable(mode, limit, exclusive, shared) {
  if (exclusive > 0) return false;
  if (mode === 'exclusive') return shared === 0;
  return limit === null || limit === 0 || shared < limit;
}

module.exports = { isGrantable };
