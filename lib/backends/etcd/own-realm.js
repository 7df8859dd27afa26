'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../../types/locks.d.ts').LockManagerSnapshot} LockManagerSnapshot */

// A message's arrays and objects are of the outermost realm. A program in a separate context is in
// another realm, in which they would be unlike the program's own.

/** @param {LockInspection} message @returns {LockInspection} */
function toOwnInspection({ held, pending }) {
  const copy = (/** @type {any} */ detail) => ({ ...detail });
  return { held: Array.from(held, copy), pending: Array.from(pending, copy) };
}

/** @param {LockInspection} message @returns {LockManagerSnapshot} */
function toOwnSnapshot({ held, pending }) {
  const toInfo = (/** @type {any} */ { clientId, mode, name }) => ({ clientId, mode, name });
  return { held: Array.from(held, toInfo), pending: Array.from(pending, toInfo) };
}

module.exports = { toOwnInspection, toOwnSnapshot };
