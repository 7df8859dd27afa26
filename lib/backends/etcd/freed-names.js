'use strict';

const { BucketKeys, decodeText } = require('./keys.js');
const { NameAccess } = require('./name-access.js');
const { countOf } = require('./queue-state.js');
const { serveQueue } = require('./serve-queue.js');
const { MAX_BATCH } = require('./step-queue.js');
const { nested, textOf } = require('./transaction.js');

/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */

// Grants the locks that a session has left with its lease. The waiters poll, too, but later: in a
// busy queue they do not watch the lock.

/**
 * The calls of a session, without one. A grant needs no fence, however late it comes. It compares
 * that the same request still waits, with no other in its way, and requests ahead of it only leave.
 */
class PlainCalls {
  /** No request is of this session: each grant is reported by mail. */
  leaseId = '';
  #client;

  /** @param {EtcdClient} client */
  constructor(client) {
    this.#client = client;
  }

  /** @param {object[]} ops */
  async read(ops) {
    const { header, responses } = await this.#call(ops);
    return { revision: header.revision, responses };
  }

  /**
   * @param {object[]} compare
   * @param {object[]} success
   * @param {object[]} failure
   */
  async change(compare, success, failure) {
    const { header, responses } = await this.#call([nested(compare, success, failure)]);
    return { revision: header.revision, ...responses[0].response_txn };
  }

  /** @param {object[]} success @returns {Promise<any>} */
  #call(success) {
    return this.#client.call('KV', 'Txn', { success }, this.#client.lateMs);
  }
}

/**
 * @param {EtcdClient} client
 * @param {BucketKeys} bucket
 * @param {string[]} names
 * @throws EtcdError (rejects)
 */
async function serveNames(client, bucket, names) {
  const calls = /** @type {any} */ (new PlainCalls(client));
  for (let start = 0; start < names.length; start += MAX_BATCH) {
    const some = names.slice(start, start + MAX_BATCH);
    const { responses } = await calls.read(some.map((name) => countOf(bucket.ofName(name).queue)));
    for (const [index, name] of some.entries()) {
      if (responses[index].response_range.count === '0') continue;
      const access = new NameAccess(name, calls, bucket);
      await serveQueue(access, async (head, rest) => {
        return (await access.grant(head, rest)) !== undefined;
      });
    }
  }
}

/**
 * The names whose locks hang on a lease, of all buckets.
 * @param {EtcdClient} client
 * @param {string} lease
 * @param {string} prefix  of the keys of all buckets
 * @returns {Promise<Map<string, Set<string>>>} by bucket
 * @throws EtcdError (rejects)
 */
async function namesOfLease(client, lease, prefix) {
  const request = { ID: lease, keys: true };
  const { keys } = await client.call('Lease', 'LeaseTimeToLive', request, client.lateMs);
  const found = new Map();
  for (const key of keys.map(textOf)) {
    const [bucket, n, name, place] = key.slice(prefix.length + 1).split('/');
    if (!key.startsWith(`${prefix}/`) || n !== 'n' || place !== 'h') continue;
    const names = found.get(bucket) ?? new Set();
    found.set(bucket, names.add(decodeText(name)));
  }
  return found;
}

/**
 * Ends the session of a process that has died, and grants its locks to those who are next.
 * @param {EtcdClient} client
 * @param {string} lease
 * @param {string} prefix
 * @throws EtcdError (rejects)
 */
async function revokeDead(client, lease, prefix) {
  const found = await namesOfLease(client, lease, prefix).catch(() => new Map());
  await client.call('Lease', 'LeaseRevoke', { ID: lease }, client.lateMs);
  for (const [bucket, names] of found) {
    await serveNames(client, new BucketKeys(prefix, decodeText(bucket)), [...names]);
  }
}

/**
 * Ends a session, and grants the locks that it had, once its agent has received the end.
 * @param {EtcdClient} client
 * @param {BucketKeys} bucket
 * @param {{ session: import('./session.js').Session | undefined, isHeard?: Promise<void>,
 *   queues: import('./name-queue.js').NameQueue[] }} over  all of its queues
 */
async function endSession(client, bucket, { session, isHeard, queues }) {
  const held = queues.filter(({ isHeld }) => isHeld).map(({ name }) => name);
  for (const queue of queues) queue.close();
  await isHeard;
  await session?.close();
  if (held.length === 0 || client.isClosed) return;
  await serveNames(client, bucket, held).catch(() => {}); // their waiters poll, too
}

module.exports = { endSession, revokeDead };
