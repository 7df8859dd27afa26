'use strict';

const { EntryOrder, RequestIds } = require('../../lib/backends/etcd/session.js');
const { EtcdRequest } = require('../../lib/backends/etcd/etcd-request.js');
const { BucketKeys, toLeaseId } = require('../../lib/backends/etcd/keys.js');
const { NameQueue } = require('../../lib/backends/etcd/name-queue.js');
const { SessionLost } = require('../../lib/backends/remote/lock-session.js');
const { textOf } = require('../../lib/backends/etcd/transaction.js');

const bucket = new BucketKeys('prefix', 'bucket');
const leaseId = toLeaseId('7');
const NAME = 'a';
const A_DAY_MS = 86_400_000;
const nameKeys = bucket.ofName(NAME);

const turn = () => new Promise(setImmediate);

/** @param {{ success: any[] }} change  that only removes */
const removedBy = ({ success }) =>
  success.map(({ request_delete_range: { key } }) => textOf(key)).sort();

/** @param {EtcdRequest} request */
const keysOf = ({ class: it, id }) =>
  [nameKeys.heldKey(it, id), nameKeys.queueKey(it, id), bucket.notification(id)].sort();

/** @param {number} number @param {object} [options] */
const requestOf = (number, options) =>
  new EtcdRequest({
    message: { number, name: NAME, mode: 'exclusive', since: 0, ...options },
  });

/** A session that lives. The test answers its changes, and says what it reads. */
class PlayedSession {
  lease = '7';
  leaseId = leaseId;
  ids = new RequestIds(leaseId);
  entries = new EntryOrder();
  /** The changes that the cluster has not answered yet. @type {any[]} */
  changes = [];
  /** The results of reads, by key. @type {Map<string, object>} */
  stored = new Map();
  /** The error that answers reads instead. @type {Error | undefined} */
  refusal;
  isOver = false;

  /** @param {EtcdRequest[]} requests */
  identify(requests) {
    this.ids.take(requests, 0n);
  }

  /** @param {any[]} ops */
  async read(ops) {
    if (this.refusal !== undefined) throw this.refusal;
    const responses = ops.map(({ request_range: { key } }) => {
      const found = this.stored.get(textOf(key));
      return { response_range: { kvs: found ? [found] : [], count: '0' } };
    });
    return { revision: '8', responses };
  }

  abandon() {
    this.isOver = true;
  }

  async complete(completion) {
    try {
      return await completion;
    } catch {
      this.abandon();
      throw new SessionLost();
    }
  }

  change(compare, success, failure, recover) {
    return new Promise((resolve, reject) =>
      this.changes.push({ compare, success, recover, resolve, reject }),
    );
  }
}

/** The requests of one session for one name, and the reports to their agent. */
function playNameQueue() {
  const session = new PlayedSession();
  const { changes, stored } = session;
  const notices = [];
  const note = (what) => (request) => notices.push(`${what} ${request.number}`);
  const queue = new NameQueue(NAME, /** @type {any} */ (session), bucket, {
    onGranted: note('granted'),
    onQueued: note('queued'),
    onMissed: note('missed'),
    onFailed: note('failed'),
    onLost: note('lost'),
    onEnded: ({ number, loss }) => notices.push(`ended ${number} ${loss}`),
    onIdle() {},
    onWaited() {},
    checkAfterMs: () => A_DAY_MS, // no test waits for it, and a busy machine must not
  });

  function makeRequest(number, options) {
    const request = requestOf(number, options);
    queue.enqueue(request);
    return request;
  }

  async function answer(revision, succeeded, responses = []) {
    await turn();
    changes.shift().resolve({ revision, succeeded, responses });
    await turn();
  }

  /** No answer came: what has happened is read. */
  async function findOut() {
    await turn();
    const { recover, resolve } = changes.shift();
    const found = await recover();
    if (found === undefined) throw new Error('it would be asked for again');
    resolve(found);
    await turn();
  }

  return { notices, session, queue, changes, stored, makeRequest, answer, findOut };
}

module.exports = { bucket, keysOf, nameKeys, playNameQueue, removedBy, requestOf, turn };
