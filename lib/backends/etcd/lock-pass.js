'use strict';

const { HELD, OVER } = require('./etcd-request.js');
const { conclude } = require('./lock-release.js');
const { NOTHING, toExpected } = require('./next-heads.js');

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./lock-release.js').Released} Released */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */
/** @typedef {import('./next-heads.js').Expected} Expected */
/** @typedef {import('./name-requests.js').Why} Why */

/**
 * @typedef {object} Passed  the followers have entered
 * @property {string} revision  at which they did
 * @property {boolean} isInDoubt  where each of them stands is to be read
 * @property {Released | undefined} released  undefined: the lock is held as before
 * @property {Expected} next  in that case
 */

/**
 * Puts requests into the queue, and in the same transaction hands over the lock that their session
 * holds: so a release does not wait for what was asked for just before it.
 * @param {NameAccess} access
 * @param {{ request: EtcdRequest, why: Why }} end  of the exclusive holder
 * @param {EtcdRequest[]} followers
 * @param {Expected} expected
 * @returns {Promise<Passed | undefined>} undefined: nothing was changed
 */
async function passLock(access, { request, why }, followers, expected) {
  const extra = access.extraOf(request, why);
  const change = access.changes.pass(request, followers, extra, {
    ...expected,
    lease: access.session.lease,
    ownId: access.session.leaseId,
    length: access.length,
  });
  const answer = await tryPass(access, change, () => findPassed(access, request, followers[0]));
  if (answer === undefined || 'passed' in answer) return answer?.passed;
  return answer.succeeded ? toPassed(access, followers, expected, answer) : undefined;
}

/**
 * @param {NameAccess} access
 * @param {import('./lock-changes.js').Change} change
 * @param {() => Promise<any>} recover
 * @returns {Promise<any>} undefined: one after the other they may succeed, or say why they do not
 */
async function tryPass(access, change, recover) {
  try {
    return await access.tryChange(change, recover);
  } catch (error) {
    if (!(/** @type {EtcdError} */ (error).isFinal)) throw error;
    return undefined;
  }
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest[]} followers
 * @param {Expected} expected
 * @param {any} answer
 * @returns {Promise<Passed>}
 */
async function toPassed(access, followers, expected, { revision, responses }) {
  const { succeeded, responses: inner } = responses[0].response_txn;
  const entered = { revision, isInDoubt: false, released: undefined, next: NOTHING };
  if (!succeeded) {
    const state = await access.toState(inner.slice(followers.length));
    return { ...entered, next: toExpected(state, revision) };
  }
  const toWaiter = (/** @type {EtcdRequest} */ { id, class: it, value }) => ({
    ...{ id, class: it, value },
    created: revision,
  });
  const isFirst = expected.heads.length === 0;
  const heads = isFirst ? followers.map(toWaiter) : expected.heads;
  const released = conclude(heads, { revision }, true, isFirst);
  return { ...entered, released };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @param {EtcdRequest} first  of the followers
 * @returns {Promise<{ passed: Passed | undefined } | undefined>} undefined: it was not made
 */
async function findPassed(access, request, first) {
  const own = await access.findOwn(request);
  const isHeld = own?.found === HELD && own.revision === request.token;
  const entered = await access.findOwn(first);
  // Unless it is held as before, it had been stolen before.
  if (entered === undefined) return isHeld ? undefined : { passed: undefined };
  const released = { isLost: own?.found === OVER, heads: [], revision: undefined, mustServe: true };
  const { revision } = entered;
  const passed = {
    revision,
    isInDoubt: true,
    released: isHeld ? undefined : released,
    next: NOTHING,
  };
  return { passed };
}

module.exports = { passLock };
