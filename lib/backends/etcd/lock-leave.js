'use strict';

const { WAITING } = require('./etcd-request.js');
const { sliceWhile } = require('./step-queue.js');
const { keyValuesOf } = require('./transaction.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */

/** How often a leave names the key of its name. */
const KEYS_OF_LEAVE = 3;

/**
 * @typedef {object} Left
 * @property {(string | undefined)[]} tokens  of those whose grants were faster: they hold the lock
 * @property {boolean} mustServe  the queue, because no exclusive holder will
 */

/**
 * There is a queue, and no exclusive holder.
 * @param {any} response
 */
function isUnserved({ response_txn: { succeeded, responses } }) {
  return succeeded && keyValuesOf(responses[0]).length > 0;
}

/** @param {any} response  to the leave of one request */
function tokenOf({ response_txn: { succeeded, responses } }) {
  return succeeded ? undefined : keyValuesOf(responses[0])[0]?.create_revision;
}

/**
 * Takes requests out of the queue, as many in one transaction as etcd takes. If a grant was faster,
 * the grant counts (E5).
 * @param {NameAccess} access
 * @param {EtcdRequest[]} requests  waiting
 * @param {string | undefined} why  shown to those who watch
 * @returns {Promise<Left>}
 */
async function leaveQueue(access, requests, why) {
  /** @type {Left} */
  const left = { tokens: [], mustServe: false };
  const bytesOf = (/** @type {EtcdRequest} */ it) => KEYS_OF_LEAVE * access.bytesOf(it);
  while (left.tokens.length < requests.length) {
    const batch = sliceWhile(requests, left.tokens.length, () => true, bytesOf);
    const some = await leaveTogether(access, batch, why);
    left.tokens.push(...some.tokens);
    left.mustServe ||= some.mustServe;
  }
  return left;
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest[]} requests  waiting
 * @param {string | undefined} why
 * @returns {Promise<Left>}
 */
async function leaveTogether(access, requests, why) {
  const leave = (/** @type {object[]} */ extra) =>
    access.change(access.changes.leave(requests, extra), () => findLeft(access, requests));
  const answer = await leave(access.whyOf(requests, why)).catch((error) => {
    if (!(/** @type {import('./etcd-errors.js').EtcdError} */ (error).isForSpace)) throw error;
    return leave([]); // the cluster has no room for the reason
  });
  if (answer.tokens !== undefined) return answer;
  const { responses } = answer;
  return {
    tokens: requests.map((_, index) => tokenOf(responses[index])),
    mustServe: requests.some(({ class: it }) => it !== 's') && isUnserved(responses.at(-1)),
  };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest[]} requests
 * @returns {Promise<Left | undefined>} undefined: they have not left
 */
async function findLeft(access, requests) {
  const tokens = [];
  for (const request of requests) {
    const found = await access.findOwn(request);
    if (found?.found === WAITING) return undefined; // all leave together, or none
    tokens.push(found?.revision);
  }
  return { tokens, mustServe: true };
}

module.exports = { leaveQueue };
