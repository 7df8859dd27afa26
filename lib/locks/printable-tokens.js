'use strict';

/** JSON has no bigints: there a token is a string of decimal digits. */

/** @typedef {import('../../types/backend.d.ts').LockInspection} LockInspection */

const toJSON = {
  enumerable: false,
  /** @this {object} */
  value() {
    return Object.fromEntries(
      Object.entries(this).map(([key, value]) => [
        key,
        typeof value === 'bigint' ? value.toString() : value,
      ]),
    );
  },
};

/**
 * @template {object} T
 * @param {T} record  gets a non-enumerable toJSON()
 * @returns {T}
 */
const withJson = (record) => Object.defineProperty(record, 'toJSON', toJSON);

/**
 * @template {LockInspection} T
 * @param {T} inspection
 * @returns {T}
 */
function toPrintableInspection(inspection) {
  for (const detail of inspection.held) withJson(detail);
  for (const detail of inspection.pending) withJson(detail);
  return inspection;
}

module.exports = { toPrintableInspection, withJson };
