'use strict';

const { countHolders, HEADS, leaseOf, readHeads, readState } = require('./queue-state.js');
const { dateNow } = require('../../time.js');
const {
  areNoneSince,
  areNoOthers,
  get,
  getAll,
  isCreatedAt,
  isEmpty,
  nested,
  put,
  remove,
  removeAll,
} = require('./transaction.js');

/** @typedef {import('./queue-state.js').Waiter} Waiter */

/** The longest part of a notification about the queue, in characters: each hand-off writes it. */
const MAX_HINTS = 4096;

/**
 * The queue behind the new holder, for its notification.
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
 * The followers have no revision yet: the notification's revision will be theirs. They stand
 * apart, because a client of an earlier version takes `heads` as they are.
 * @param {Behind} behind
 * @param {boolean} isAll  there are no others than `rest`
 * @returns {string} the text of the notification
 */
function toGrantNotification({ rest, followers = [] }, isAll) {
  const fit = fitting(rest, MAX_HINTS);
  const notified = fit.length === 0 ? rest.slice(0, 1) : fit;
  const heads = notified.map(({ id, class: it, created, value }) => [id, it, created, value]);
  if (!isAll || notified.length < rest.length) return JSON.stringify({ heads });
  const room = MAX_HINTS - rest.reduce((sum, { id, value }) => sum + id.length + value.length, 0);
  const next = fitting(followers.slice(0, Math.max(0, HEADS - rest.length)), room);
  return JSON.stringify({
    heads,
    next: next.map(({ id, class: it, value }) => [id, it, value]),
    isAll: next.length === followers.length,
  });
}

/**
 * @param {any} notification  parsed
 * @param {string} revision  of the notification
 * @returns {{ heads: Waiter[], knownAt: string | undefined }} knownAt: the revision at which there
 *   were no others
 */
function fromGrantNotification({ heads, next = [], isAll = false }, revision) {
  const known = heads.map((/** @type {any} */ [id, requestClass, created, value]) => ({
    ...{ id, class: requestClass, created, value },
  }));
  const followers = next.map((/** @type {any} */ [id, requestClass, value]) => ({
    ...{ id, class: requestClass, created: revision, value },
  }));
  return { heads: [...known, ...followers], knownAt: isAll ? revision : undefined };
}

/**
 * The changes of a lock, each as one transaction. They keep the invariants E1 to E6 (docs/etcd.md).
 *
 * @typedef {import('./keys.js').BucketKeys} BucketKeys
 * @typedef {import('./keys.js').NameKeys} NameKeys
 * @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest
 *
 * @typedef {{ class: import('./keys.js').RequestClass, id: string, token: string }} PreviousHolder
 *
 * @typedef {object} Change
 * @property {object[]} compare
 * @property {object[]} success
 * @property {object[]} failure
 */

/** So many notices of a steal are one operation of its transaction. */
const GROUP = 50;
/** So many previous holders can be notified by the steal itself. */
const MAX_NOTIFIED = GROUP * GROUP;

/** The changes of one name's lock. */
class LockChanges {
  #bucket;
  #keys;

  /**
   * @param {BucketKeys} bucket
   * @param {NameKeys} keys
   */
  constructor(bucket, keys) {
    this.#bucket = bucket;
    this.#keys = keys;
  }

  /** @param {{ class: import('./keys.js').RequestClass, id: string }} request */
  heldKey(request) {
    return this.#keys.heldKey(request.class, request.id);
  }

  /** @param {{ class: import('./keys.js').RequestClass, id: string }} request */
  queueKey(request) {
    return this.#keys.queueKey(request.class, request.id);
  }

  /**
   * Takes the lock if no other request is in the way, otherwise a place in the queue.
   * @param {EtcdRequest} request
   * @param {string} lease
   * @returns {Change}
   */
  enter(request, lease) {
    const { heldExclusive, held, queue } = this.#keys;
    const isPlainShared = request.class === 's';
    return {
      // The held locks first: they are seldom many, and the comparison ends at the first that
      // fails.
      compare: isPlainShared
        ? [heldExclusive, this.#keys.queueOf('x'), this.#keys.queueOf('l')].map(isEmpty)
        : [held, queue].map(isEmpty),
      success: [this.#hold(request, request.value, lease)],
      failure: request.ifAvailable ? [] : [put(this.queueKey(request), request.value, lease)],
    };
  }

  /**
   * Puts requests behind one of the same session's that still waits.
   * @param {EtcdRequest} first
   * @param {EtcdRequest[]} requests
   * @param {string} lease
   * @returns {Change}
   */
  follow(first, requests, lease) {
    return {
      compare: [isCreatedAt(this.queueKey(first), first.created)],
      success: requests.map((request) => put(this.queueKey(request), request.value, lease)),
      failure: [],
    };
  }

  /**
   * An `ifAvailable` request with a limit: no other request has come since its turn was found.
   * @param {EtcdRequest} request
   * @param {string} revision
   * @param {string} lease
   * @returns {Change}
   */
  enterLimited(request, revision, lease) {
    const { heldExclusive, heldShared, queue } = this.#keys;
    return {
      compare: [isEmpty(heldExclusive), isEmpty(queue), areNoneSince(heldShared, revision)],
      success: [this.#hold(request, request.value, lease)],
      failure: [],
    };
  }

  /**
   * Grants the lock to the first of the queue (E3: the first stays first, and holders only leave).
   * @param {Waiter} head
   * @param {Waiter[]} rest  that follows it in the queue
   * @param {string} ownId  of the session, which needs no notification
   * @returns {Change}
   */
  grant(head, rest, ownId) {
    const { held, heldExclusive } = this.#keys;
    return {
      compare: [
        isCreatedAt(this.queueKey(head), head.created),
        isEmpty(head.class === 'x' ? held : heldExclusive),
      ],
      success: this.#grantTo(head, { rest }, ownId),
      failure: [],
    };
  }

  /**
   * Releases the lock if no request waits.
   * @param {EtcdRequest} request
   * @param {object[]} extra
   * @param {number} length  of the queue, as far as known
   * @returns {Change}
   */
  release(request, extra, length) {
    const key = this.heldKey(request);
    return {
      compare: [isCreatedAt(key, request.token), isEmpty(this.#keys.queue)],
      success: [remove(key), ...extra],
      failure: [get(key), ...readState(this.#keys, length)],
    };
  }

  /**
   * Releases the lock, even if requests wait.
   * @param {EtcdRequest} request
   * @returns {Change}
   */
  drop(request) {
    const key = this.heldKey(request);
    return {
      compare: [isCreatedAt(key, request.token)],
      success: [remove(key), remove(this.#bucket.notification(request.id))],
      failure: [],
    };
  }

  /**
   * Hands the lock to the first of the queue. An exclusive request gets a shared lock only if no
   * other holder is left; otherwise the lock is released, and the last holder hands it off.
   * @param {EtcdRequest} request
   * @param {object[]} extra
   * @param {Behind & { head: Waiter, ownId: string, hasRoom: boolean }} next
   * @param {number} length
   * @returns {Change}
   */
  handOver(request, extra, { head, ownId, hasRoom, ...behind }, length) {
    const key = this.heldKey(request);
    const bothThere = [
      isCreatedAt(key, request.token),
      isCreatedAt(this.queueKey(head), head.created),
    ];
    const leave = [remove(key), ...extra];
    const give = [...leave, ...this.#grantTo(head, behind, ownId)];
    const state = [get(key), ...readState(this.#keys, length)];
    if (request.class === 'x') return { compare: bothThere, success: give, failure: state };
    if (head.class !== 'x') {
      return { compare: bothThere, success: hasRoom ? give : leave, failure: state };
    }
    return {
      compare: [...bothThere, ...areNoOthers(this.#keys.heldShared, key)],
      success: give,
      failure: [nested(bothThere, leave, state)],
    };
  }

  /**
   * Puts requests behind all others, and then hands the exclusive lock to the first of the queue.
   * If no other request waits, the first of these gets it. If that cannot be decided, they only
   * enter.
   * @param {EtcdRequest} request
   * @param {EtcdRequest[]} followers  of the same session
   * @param {object[]} extra
   * @param {import('./name-lock.js').Expected & { lease: string, ownId: string, length: number }}
   *   about
   * @returns {Change}
   */
  pass(request, followers, extra, { heads: [head, ...rest], knownAt, lease, ownId, length }) {
    const key = this.heldKey(request);
    const leave = [remove(key), ...extra];
    const enter = followers.map((it) => put(this.queueKey(it), it.value, lease));
    const [first] = followers;
    const decide =
      head === undefined
        ? {
            compare: [isEmpty(this.#keys.queue)],
            success: [...leave, this.#hold(first, first.value, lease), ...enter.slice(1)],
          }
        : {
            compare: [isCreatedAt(this.queueKey(head), head.created)],
            success: [
              ...leave,
              ...this.#grantTo(head, { rest, followers, knownAt }, ownId),
              ...enter,
            ],
          };
    const state = [...enter, ...readState(this.#keys, length)];
    return {
      compare: [isCreatedAt(key, request.token)],
      success: [nested(decide.compare, decide.success, state)],
      failure: [],
    };
  }

  /**
   * Leaves the queue; without an exclusive holder, other requests may become grantable.
   * @param {EtcdRequest[]} requests  of the session: each leaves separately
   * @param {object[]} extra  what is changed with it
   * @returns {Change}
   */
  leave(requests, extra) {
    const leaves = requests.map((request) => {
      const key = this.queueKey(request);
      const notification = request.hasNotification
        ? [remove(this.#bucket.notification(request.id))]
        : [];
      const isThere = isCreatedAt(key, request.created);
      return nested([isThere], [remove(key), ...notification], [get(this.heldKey(request))]);
    });
    const state = nested([isEmpty(this.#keys.heldExclusive)], [getFirst(this.#keys.queue)]);
    return { compare: [], success: [...leaves, ...extra, state], failure: [] };
  }

  /**
   * Takes the lock from all holders, and notifies them. A transaction must not name a key twice:
   * the range of the new key is not removed as a whole.
   * @param {EtcdRequest} request
   * @param {string} lease
   * @param {PreviousHolder[]} previousHolders  all holders then
   * @param {{ notified: number, revision: string }} about  how many are notified at once; then
   * @returns {Change}
   */
  steal(request, lease, previousHolders, { notified, revision }) {
    const { held, heldShared } = this.#keys;
    const exclusive = previousHolders.filter((previousHolder) => previousHolder.class === 'x');
    return {
      compare: [areNoneSince(held, revision)],
      success: [
        removeAll(heldShared),
        ...exclusive.map((previousHolder) => remove(this.heldKey(previousHolder))),
        this.#hold(request, request.value, lease),
        ...inGroups(previousHolders.slice(0, notified)).map((group) =>
          nested(
            [],
            group.map((previousHolder) => this.stealNotice(previousHolder)),
          ),
        ),
      ],
      failure: [],
    };
  }

  /** @param {PreviousHolder} previousHolder  that has lost its lock */
  stealNotice({ id, token }) {
    const notice = JSON.stringify({ stolen: true, token });
    return put(this.#bucket.notification(id), notice, leaseOf({ id }));
  }

  /** @param {EtcdRequest} request */
  readOwn(request) {
    return [
      this.heldKey(request),
      this.queueKey(request),
      this.#bucket.notification(request.id),
    ].map(get);
  }

  /**
   * Removes all that there is of a request.
   * @param {EtcdRequest} request
   * @returns {Change}
   */
  erase(request) {
    const all = [
      this.heldKey(request),
      this.queueKey(request),
      this.#bucket.notification(request.id),
    ];
    return { compare: [], success: all.map(remove), failure: [] };
  }

  readHolders() {
    return [getAll(this.#keys.held)];
  }

  countHolders() {
    return countHolders(this.#keys);
  }

  /** @param {number} length */
  readHeads(length) {
    return readHeads(this.#keys, length);
  }

  /** @param {number} length */
  readState(length) {
    return readState(this.#keys, length);
  }

  /**
   * @param {{ class: import('./keys.js').RequestClass, id: string }} request
   * @param {string} value
   * @param {string} lease
   */
  #hold(request, value, lease) {
    return put(this.heldKey(request), `${dateNow()} ${value}`, lease);
  }

  /**
   * @param {Waiter} head
   * @param {Behind} behind
   * @param {string} ownId
   */
  #grantTo(head, behind, ownId) {
    const lease = leaseOf(head);
    return [
      remove(this.queueKey(head)),
      this.#hold(head, head.value, lease),
      ...(head.id.slice(0, 16) === ownId ? [] : [this.#notificationTo(head, behind, lease)]),
    ];
  }

  /**
   * @param {Waiter} head
   * @param {Behind} behind
   * @param {string} lease
   */
  #notificationTo(head, behind, lease) {
    const write = (/** @type {boolean} */ isAll) =>
      put(this.#bucket.notification(head.id), toGrantNotification(behind, isAll), lease);
    const { knownAt } = behind;
    if (knownAt === undefined) return write(false);
    return nested([areNoneSince(this.#keys.queue, knownAt)], [write(true)], [write(false)]);
  }
}

/**
 * Splits into groups. A transaction may have 128 operations, and each of them may be a transaction
 * with as many as are left.
 * @param {PreviousHolder[]} previousHolders
 * @returns {PreviousHolder[][]}
 */
function inGroups(previousHolders) {
  const count = Math.ceil(previousHolders.length / GROUP);
  return Array.from({ length: count }, (_, i) => previousHolders.slice(i * GROUP, (i + 1) * GROUP));
}

/** @param {string} prefix */
const getFirst = (prefix) => ({
  request_range: { ...getAll(prefix).request_range, limit: '1', keys_only: true },
});

module.exports = { fromGrantNotification, toGrantNotification, LockChanges, MAX_NOTIFIED };
