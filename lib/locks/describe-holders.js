'use strict';

/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */

/** That there are further ones is said. */
const MAX_NAMED = 3;

/** @param {LockDetail} holder */
function describeHolder({ pid, threadId, label, held }) {
  const about = [`process ${pid}`, `thread ${threadId}`];
  if (label !== '') about.push(`label '${label}'`);
  return `${about.join(', ')}, for ${Math.round(held ?? 0)} ms`;
}

/**
 * Who holds a lock, where that is known at once.
 * @param {Backend} backend
 * @param {string} name
 * @returns {string} empty where it is not known, or where nobody holds it
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
