'use strict';

const { isGrantable } = require('./grantable.js');

/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * Whether a thread that blocks until this request is granted would wait for itself: what it holds
 * it does not release meanwhile, and what it asked for before it would get, but not release.
 * Everybody else is taken to release in the end.
 * @param {LockInspection} inspection
 * @param {LockDetail} request  pending
 */
function isInItsOwnWay({ held, pending }, request) {
  const isOwn = (/** @type {LockDetail} */ detail) =>
    detail.pid === request.pid && detail.threadId === request.threadId;
  const ofName = (/** @type {LockDetail} */ detail) => detail.name === request.name;
  const staying = held.filter((lock) => isOwn(lock) && ofName(lock) && lock.holdLimit === 0);
  for (const other of pending.filter(ofName)) {
    if (!isGrantable(other, staying)) return true;
    if (other === request) return false;
    if (isOwn(other)) staying.push(other);
  }
  return false;
}

module.exports = { isInItsOwnWay };
