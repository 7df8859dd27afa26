'use strict';

/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */

/** Further holders are only mentioned. */
const MAX_NAMED = 3;

/** @param {LockDetail} holder */
function describeHolder({ pid, threadId, label, held }) {
  const about = [`process ${pid}`, `thread ${threadId}`];
  if (label !== '') about.push(`label '${label}'`);
  return `${about.join(', ')}, for ${Math.round(held ?? 0)} ms`;
}

/**
 * Describes the holders of a lock, if the backend knows them synchronously.
 * @param {Backend} backend
 * @param {string} name
 * @returns {string} '' if they are not known, or if the lock is free
 */
function describeHolders(backend, name) {
  const holders = backend.holdersOf?.(name, MAX_NAMED + 1) ?? [];
  if (holders.length === 0) return '';
  const named = holders.slice(0, MAX_NAMED).map(describeHolder);
  if (holders.length > MAX_NAMED) named.push('and others');
  return `; it is held by ${named.join('; ')}`;
}

/**
 * @param {Backend} backend
 * @param {string} name
 * @param {number} timeout  ms
 */
const describeTimeout = (backend, name, timeout) =>
  `The lock '${name}' was not granted within ${timeout} ms${describeHolders(backend, name)}`;

module.exports = { describeHolders, describeTimeout };
