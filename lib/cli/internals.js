'use strict';

// The members of a lock manager that the command line reads beyond its public methods. A backend
// may lack them: then nothing is known.

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const BACKEND = Symbol.for('holdfast.backend');

/**
 * @param {import('holdfast').LockManager} manager
 * @returns {LockBackend} attached; throws what the bucket cannot be opened for
 */
const backendOf = (manager) => /** @type {any} */ (manager)[BACKEND]();

/**
 * New descriptors that keep this process's locks held while they are open anywhere. The caller
 * closes them.
 * @param {import('holdfast').LockManager} manager
 * @returns {number[]} none where locks are not held by descriptors
 */
const lifeDescriptors = (manager) => backendOf(manager).lifeDescriptors?.() ?? [];

/**
 * How full the lock table is.
 * @param {import('holdfast').LockManager} manager
 */
const usageOf = (manager) => backendOf(manager).usage?.();

/**
 * Why the broker, server or cluster of a lock manager has not answered.
 * @param {import('holdfast').LockManager} manager
 * @returns {string}
 */
const silenceOf = (manager) => /** @type {any} */ (backendOf(manager)).silenceOf(undefined, true);

module.exports = { backendOf, lifeDescriptors, silenceOf, usageOf };
