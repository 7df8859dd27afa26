'use strict';

const { describeProcess } = require('./describe-process.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */

/** Further holders are only mentioned. */
const MAX_NAMED = 3;

/** @param {LockDetail} holder */
function describeHolder(holder) {
  const { threadId, label, held } = holder;
  const about = [describeProcess(holder), `thread ${threadId}`];
  if (label !== '') about.push(`label '${label}'`);
  return `${about.join(', ')}, for ${Math.round(held ?? 0)} ms`;
}

/**
 * @param {LockDetail[]} holders
 * @returns {string} '' if they are not known, or if the lock is free
 */
function describeHolders(holders) {
  if (holders.length === 0) return '';
  const named = holders.slice(0, MAX_NAMED).map(describeHolder);
  if (holders.length > MAX_NAMED) named.push('and others');
  return `; it is held by ${named.join('; ')}`;
}

/**
 * @param {string} name
 * @param {number} timeout  ms
 * @param {LockDetail[]} holders
 * @param {string} [silence]  why the backend has decided nothing
 */
const describeTimeout = (name, timeout, holders, silence) =>
  `The lock '${name}' was not granted within ${timeout} ms${
    silence === undefined ? describeHolders(holders) : `: ${silence}`
  }`;

/**
 * The holders that describeTimeout() names.
 * @param {Backend} backend
 * @param {string} name
 * @returns {LockDetail[] | Promise<LockDetail[]>} a promise from backends that answer later
 */
const findHolders = (backend, name) => backend.holdersOf?.(name, MAX_NAMED + 1) ?? [];

/**
 * The same, for a thread that is blocked.
 * @param {Backend} backend
 * @param {string} name
 */
const findHoldersSync = (backend, name) =>
  /** @type {LockDetail[]} */ (backend.holdersOf?.(name, MAX_NAMED + 1, true) ?? []);

module.exports = { describeTimeout, findHolders, findHoldersSync };
