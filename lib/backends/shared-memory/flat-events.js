'use strict';

// How the native part hands over what happened: values in turns, of which objects are made here.

/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/** @typedef {any[]} FlatEvents */

const FIELDS = 11;

/** By the number of the type. */
const TYPES = /** @type {const} */ ([
  undefined,
  'queued',
  'granted',
  'released',
  'aborted',
  'timedout',
  'stolen',
  'expired',
  'died',
]);

/**
 * @param {FlatEvents} flat
 * @param {number} at
 * @returns {LockEvent}
 */
function toLockEvent(flat, at) {
  const token = (BigInt(flat[at + 6]) << 32n) | BigInt(flat[at + 7]);
  return {
    type: /** @type {LockEvent['type']} */ (TYPES[flat[at + 1]]),
    name: flat[at],
    mode: flat[at + 2] === 0 ? 'exclusive' : 'shared',
    clientId: flat[at + 3],
    pid: flat[at + 4],
    threadId: flat[at + 5],
    token: token === 0n ? null : token,
    time: flat[at + 8],
    lost: flat[at + 9],
    requestId: flat[at + 10],
  };
}

/**
 * @param {FlatEvents} flat
 * @returns {LockEvent[]}
 */
function toLockEvents(flat) {
  const events = [];
  for (let at = 0; at < flat.length; at += FIELDS) events.push(toLockEvent(flat, at));
  return events;
}

module.exports = { toLockEvents };
