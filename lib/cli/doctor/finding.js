'use strict';

/**
 * The result of an examination.
 * @typedef {object} Finding
 * @property {'ok' | 'note' | 'warning' | 'fault'} level  a fault keeps locks from being shared
 * @property {string} title
 * @property {string} [advice]  what to do about it
 */

/** @param {string} title @returns {Finding} */
const ok = (title) => ({ level: 'ok', title });

/** @param {string} title @param {string} [advice] @returns {Finding} */
const noted = (title, advice) => ({ level: 'note', title, advice });

/** @param {string} title @param {string} advice @returns {Finding} */
const warning = (title, advice) => ({ level: 'warning', title, advice });

/** @param {string} title @param {string} advice @returns {Finding} */
const fault = (title, advice) => ({ level: 'fault', title, advice });

module.exports = { fault, noted, ok, warning };
