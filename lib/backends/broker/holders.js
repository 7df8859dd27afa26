'use strict';

const { apply, then } = require('../../time.js');
const { toDetail } = require('./wire-values.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * @param {any[]} holders  as they cross: without their name
 * @param {string} name
 * @returns {LockDetail[]}
 */
const toHolders = (holders, name) => holders.map((holder) => toDetail({ ...holder, name }));

/**
 * @param {import('./broker-calls.js').BrokerCalls} calls
 * @param {string} name
 * @param {number} max
 * @returns {Promise<LockDetail[]>} none, where there is no broker any more
 */
const askHolders = (calls, name, max) =>
  apply(then, calls.ask('holdersOf', [name, max], false), [
    (/** @type {any[]} */ holders) => toHolders(holders, name),
    () => [],
  ]);

/**
 * @param {() => { value: any }} ask  blocks the thread
 * @param {string} name
 * @returns {LockDetail[]} none without an answer, or if a blocked thread cannot take the answer
 */
function askHoldersSync(ask, name) {
  try {
    return toHolders(ask().value ?? [], name);
  } catch {
    return [];
  }
}

module.exports = { askHolders, askHoldersSync };
