'use strict';

const { HEADS } = require('./queue-state.js');

/** @typedef {import('./queue-state.js').Waiter} Waiter */

/** The most that a mail says of the queue, in characters: it is written with every hand-off. */
const MAX_HINTS = 4096;

/**
 * The queue behind the new holder, for its mail.
 * @typedef {object} Behind
 * @property {Waiter[]} rest  the first of the queue, without a gap
 * @property {{ id: string, class: import('./keys.js').RequestClass, value: string }[]} [followers]
 *   that enter the queue with the grant
 * @property {string} [knownAt]  the revision at which there were no others than `rest`
 */

/**
 * @template {{ id: string, value: string }} T
 * @param {T[]} waiters
 * @param {number} room
 */
function fitting(waiters, room) {
  const count = waiters.findIndex(({ id, value }) => (room -= id.length + value.length) < 0);
  return count < 0 ? waiters : waiters.slice(0, count);
}

/**
 * The followers have no revision yet: the mail's revision will be theirs. They stand apart, because
 * a client of an earlier version takes `heads` as they are.
 * @param {Behind} behind
 * @param {boolean} isAll  there are no others than `rest`
 * @returns {string} the text of the mail
 */
function toGrantMail({ rest, followers = [] }, isAll) {
  const fit = fitting(rest, MAX_HINTS);
  const told = fit.length === 0 ? rest.slice(0, 1) : fit;
  const heads = told.map(({ id, class: it, created, value }) => [id, it, created, value]);
  if (!isAll || told.length < rest.length) return JSON.stringify({ heads });
  const room = MAX_HINTS - rest.reduce((sum, { id, value }) => sum + id.length + value.length, 0);
  const next = fitting(followers.slice(0, Math.max(0, HEADS - rest.length)), room);
  return JSON.stringify({
    heads,
    next: next.map(({ id, class: it, value }) => [id, it, value]),
    isAll: next.length === followers.length,
  });
}

/**
 * @param {any} mail  parsed
 * @param {string} revision  of the mail
 * @returns {{ heads: Waiter[], knownAt: string | undefined }} knownAt: the revision at which there
 *   were no others
 */
function fromGrantMail({ heads, next = [], isAll = false }, revision) {
  const known = heads.map((/** @type {any} */ [id, requestClass, created, value]) => ({
    ...{ id, class: requestClass, created, value },
  }));
  const followers = next.map((/** @type {any} */ [id, requestClass, value]) => ({
    ...{ id, class: requestClass, created: revision, value },
  }));
  return { heads: [...known, ...followers], knownAt: isAll ? revision : undefined };
}

module.exports = { fromGrantMail, toGrantMail };
