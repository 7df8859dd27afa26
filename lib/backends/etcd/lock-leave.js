'use strict';

const { HELD, WAITING } = require('./etcd-request.js');
const { keyValuesOf } = require('./transaction.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */

/**
 * Whether the queue has to be served: it is not empty, and there is no exclusive holder to do so.
 * @param {any} answer
 * @param {EtcdRequest} request  that has left
 */
function mayServe({ responses }, request) {
  const { succeeded, responses: found } = responses[responses.length - 1].response_txn;
  return request.class !== 's' && succeeded && keyValuesOf(found[0]).length > 0;
}

/**
 * Takes a request out of the queue. Where its grant was faster the grant counts (E5).
 * @param {NameAccess} access
 * @param {EtcdRequest} request  waiting
 * @param {object[]} extra  what is changed with it
 * @returns {Promise<{ token: string | undefined, mustServe: boolean }>} token: it holds the lock
 */
async function leaveQueue(access, request, extra) {
  const answer = await access.change(access.changes.leave(request, extra), async () => {
    const found = await access.findOwn(request);
    if (found?.found === WAITING) return undefined;
    return { isUnknown: true, token: found?.found === HELD ? found.revision : undefined };
  });
  if (answer.isUnknown) return { token: answer.token, mustServe: answer.token === undefined };
  if (answer.succeeded) return { token: undefined, mustServe: mayServe(answer, request) };
  const [held] = keyValuesOf(answer.responses[0]);
  return { token: held?.create_revision, mustServe: false };
}

module.exports = { leaveQueue };
