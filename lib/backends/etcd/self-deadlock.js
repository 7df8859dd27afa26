'use strict';

const { WaitPath } = require('../wait-path.js');
const { WAITING } = require('./etcd-request.js');
const { toRequestInfo } = require('./bucket-view.js');
const { withNumber } = require('./keys.js');
const { limitOf, toWaiters } = require('./queue-state.js');
const { getAll, getMadeUntil, keyValuesOf } = require('./transaction.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./queue-state.js').Waiter} Waiter */

/** @param {Waiter} waiter */
const toWaiting = (waiter) => ({
  isQueued: true,
  request: toRequest(waiter, waiter.class === 'l' ? limitOf(waiter) : 0),
});

/** @param {Waiter} holder */
const toHeld = (holder) => ({ isQueued: false, request: toRequest(holder, 0) });

/**
 * The id of a request in the thread that has made it.
 * @param {Waiter} waiter
 * @param {boolean} isHeld
 */
const askedId = ({ id, value }, isHeld) =>
  withNumber(id, toRequestInfo(value, { id, isHeld }).number);

/**
 * @param {Waiter} waiter
 * @param {number} limit
 * @returns {{ mode: 'exclusive' | 'shared', extras: { limit: number } }}
 */
const toRequest = (waiter, limit) => ({
  mode: waiter.class === 'x' ? 'exclusive' : 'shared',
  extras: { limit },
});

/**
 * Whether a request in the queue waits for its own thread. The requests ahead of it only leave, so
 * this is checked once in each session.
 * @param {import('./session.js').Session} session
 * @param {import('./keys.js').BucketKeys} bucket
 * @param {EtcdRequest} request
 * @param {() => Set<string>} findOwn  ids of the thread's other requests
 * @returns {Promise<boolean>}
 * @throws EtcdError, SessionLost (rejects)
 */
async function wouldSelfDeadlock(session, bucket, request, findOwn) {
  const { held, queue } = bucket.ofName(request.name);
  const { responses } = await session.read([getAll(held), getMadeUntil(queue, request.created)]);
  const [holders, waiters] = responses.map((it) => toWaiters(keyValuesOf(it), bucket));
  const place = waiters.findIndex(({ id }) => id === request.id);
  if (place < 0 || request.phase !== WAITING) return false;
  const own = findOwn();
  const path = new WaitPath(toWaiting(waiters[place]));
  const ahead = waiters.slice(0, place).reverse();
  return (
    ahead.some((it) => path.isStoppedBy(toWaiting(it), own.has(askedId(it, false)))) ||
    holders.some((it) => path.isStoppedBy(toHeld(it), own.has(askedId(it, true))))
  );
}

module.exports = { wouldSelfDeadlock };
