'use strict';

const { isGrantable } = require('./queue-state.js');

/** @typedef {import('./queue-state.js').Waiter} Waiter */

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */

/**
 * Grants what can be granted, from the front of the queue on. If the cluster has no room for a
 * grant, the waiters poll, again and again (E6).
 * @param {import('./name-access.js').NameAccess} access
 * @param {(head: Waiter, rest: Waiter[]) => Promise<boolean>} grant  false: it is gone
 */
async function serveQueue(access, grant) {
  try {
    await serveAll(access, grant);
  } catch (error) {
    if (!(/** @type {EtcdError} */ (error).isForSpace)) throw error;
  }
}

/**
 * @param {import('./name-access.js').NameAccess} access
 * @param {(head: Waiter, rest: Waiter[]) => Promise<boolean>} grant
 */
async function serveAll(access, grant) {
  for (;;) {
    const { heads, exclusive, shared } = await access.readState();
    if (heads.length === 0) return;
    const holders = { exclusive, shared };
    for (const [index, head] of heads.entries()) {
      if (!isGrantable(head, holders)) return;
      if (!(await grant(head, heads.slice(index + 1)))) break;
      holders[head.class === 'x' ? 'exclusive' : 'shared'] += 1;
    }
  }
}

module.exports = { serveQueue };
