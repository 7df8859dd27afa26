'use strict';

const { HELD, OVER } = require('./etcd-request.js');
const { toExpected } = require('./next-heads.js');
const { limitOf } = require('./queue-state.js');
const { keyValuesOf } = require('./transaction.js');

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./lock-changes.js').Change} Change */
/** @typedef {import('./next-heads.js').Expected} Expected */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */
/** @typedef {import('./queue-state.js').QueueState} QueueState */
/** @typedef {import('./queue-state.js').Waiter} Waiter */

/**
 * @typedef {object} Released
 * @property {boolean} isLost  it had been taken away before
 * @property {Waiter[]} heads  the first of which was next, if there was a waiter
 * @property {string | undefined} revision  of the grant to that one, where there was one
 * @property {boolean} mustServe  others may be grantable
 */

/**
 * Releases a lock, and in the same transaction grants it to the next request of the queue (E4).
 * @param {NameAccess} access
 * @param {EtcdRequest} request  held
 * @param {object[]} extra  what is changed with it
 * @param {Expected} expected
 * @returns {Promise<Released>}
 */
async function releaseLock(access, request, extra, expected) {
  let queue = expected;
  /** @type {QueueState | undefined} */
  let state;
  for (;;) {
    const { heads } = queue;
    const { change, isGiven } = toChange(access, request, extra, { ...queue, state });
    const answer = await tryRelease(access, request, change);
    if (answer === undefined) {
      const found = await access.readState(); // the next one has died
      state = found;
      queue = toExpected(found, found.revision);
    } else if (answer.isStolen) {
      return { ...left([]), isLost: true };
    } else if (answer.succeeded || answer.isUnknown) {
      return conclude(heads, answer, isGiven, state?.isComplete ?? false);
    } else {
      const responses = responsesOf(answer);
      if (responses === undefined) return left(heads); // the last holder hands it over
      if (keyValuesOf(responses[0]).length === 0) return { ...left([]), isLost: true };
      state = await access.toState(responses.slice(1));
      queue = toExpected(state, answer.revision);
    }
  }
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @param {object[]} extra
 * @param {Expected & { state: QueueState | undefined }} queue
 */
function toChange({ changes, session, length }, request, extra, { heads, knownAt, state }) {
  const [head, ...rest] = heads;
  if (head === undefined)
    return { change: changes.release(request, extra, length), isGiven: false };
  const isCounted = request.class !== 'x' && head.class === 'l';
  const hasRoom = !isCounted || /** @type {QueueState} */ (state).shared <= limitOf(head);
  const next = { head, rest, knownAt, ownId: session.leaseId, hasRoom };
  return { change: changes.handOver(request, extra, next, length), isGiven: hasRoom };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @param {Change} change
 */
async function tryRelease(access, request, change) {
  const recover = async () => {
    const found = await access.findOwn(request);
    if (found?.found === OVER) return { isStolen: true };
    const isHeld = found?.found === HELD && found.revision === request.token;
    return isHeld ? undefined : { isUnknown: true };
  };
  try {
    return await access.tryChange(change, recover);
  } catch (error) {
    if (!(/** @type {EtcdError} */ (error).isFinal)) throw error;
    // The cluster has no room for the grant that goes with it, say: the waiters poll, too.
    const { isStolen } = await access.change(access.changes.drop(request), recover);
    return isStolen ? { isStolen } : { isUnknown: true };
  }
}

/**
 * The responses of a release that did not find its lock; a nested transaction may have them.
 * @param {any} answer
 * @returns {any[] | undefined} undefined: the lock was released
 */
function responsesOf({ responses }) {
  const inner = responses[0].response_txn;
  if (inner === undefined || inner === null) return responses;
  return inner.succeeded ? undefined : inner.responses;
}

/** @param {Waiter[]} heads @returns {Released} */
const left = (heads) => ({ isLost: false, heads, revision: undefined, mustServe: false });

/**
 * @param {Waiter[]} heads
 * @param {any} answer
 * @param {boolean} isGiven
 * @param {boolean} isComplete  there are no others
 * @returns {Released}
 */
function conclude(heads, { isUnknown, revision }, isGiven, isComplete) {
  if (isUnknown) return { ...left([]), mustServe: true };
  const [head, next] = heads;
  if (head === undefined) return left(heads);
  // After a shared request others may follow at once, also some that are not known yet.
  const mayFollow = next === undefined ? !isComplete : next.class !== 'x';
  return {
    isLost: false,
    heads,
    revision: isGiven ? revision : undefined,
    mustServe: head.class !== 'x' && mayFollow,
  };
}

module.exports = { conclude, releaseLock };
