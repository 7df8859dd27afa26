'use strict';

/** @typedef {[name: string, message: string]} Refusal  an error, as it crosses */

/**
 * Why a broker cannot serve, for its clients.
 * @param {unknown} cause
 * @param {string} folder  of the bucket
 * @returns {Refusal}
 */
function toRefusal(cause, folder) {
  const { name, message, code } = /** @type {any} */ (cause);
  if (cause instanceof DOMException) return [name, message];
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return [
    isFull ? 'QuotaExceededError' : 'InvalidStateError',
    `The broker cannot take over, see to the files in ${folder}: ${message}`,
  ];
}

module.exports = { toRefusal };
