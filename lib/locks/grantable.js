'use strict';

/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * Standard: Web Locks, "grantable" (#concept-lock-request), with the limits that go beyond it.
 * @param {Pick<LockDetail, 'mode' | 'limit'>} request  first in its queue
 * @param {Pick<LockDetail, 'mode'>[]} holders  of its name
 */
function isGrantable({ mode, limit }, holders) {
  if (mode === 'exclusive') return holders.length === 0;
  if (holders.some((holder) => holder.mode === 'exclusive')) return false;
  return limit === 0 || holders.length < limit;
}

module.exports = { isGrantable };
