'use strict';

const { HELD, OVER, WAITING } = require('./etcd-request.js');
const { KnownOrder } = require('./known-order.js');
const { LockChanges } = require('./lock-changes.js');
const { numberIn, toFront, toWaiters } = require('./queue-state.js');
const { MAX_BATCH } = require('./step-queue.js');
const { getMadeAt, keyValuesOf, put, remove } = require('./transaction.js');

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./lock-changes.js').Change} Change */
/** @typedef {import('./lock-changes.js').Victim} Victim */
/** @typedef {import('./queue-state.js').Front} Front */
/** @typedef {import('./queue-state.js').QueueState} QueueState */
/** @typedef {import('./queue-state.js').Waiter} Waiter */
/** @typedef {import('./session.js').Session} Session */

/**
 * The state of a request: found if a change was in doubt. OVER: its lock was stolen.
 * @typedef {{ found: typeof HELD | typeof WAITING | typeof OVER, revision: string }} Found
 */

/** The lease, the comparisons, the frame. */
const MORE_BYTES = 200;

/** The lock of one name in the cluster, as a session reads and changes it. */
class NameAccess {
  #bucket;
  /** The queue's length when it was read last. */
  #length = 0;
  order = new KnownOrder();
  session;
  keys;
  changes;

  /**
   * @param {string} name
   * @param {Session} session
   * @param {BucketKeys} bucket
   */
  constructor(name, session, bucket) {
    this.session = session;
    this.#bucket = bucket;
    this.keys = bucket.ofName(name);
    this.changes = new LockChanges(bucket, this.keys);
  }

  get bucket() {
    return this.#bucket;
  }

  get length() {
    return this.#length;
  }

  /** The approximate size of a queue position in a transaction. @param {EtcdRequest} request */
  bytesOf = (request) =>
    this.changes.queueKey(request).length + Buffer.byteLength(request.value) + MORE_BYTES;

  /** @param {number} length  of the queue, as far as it was read */
  noteLength(length) {
    this.#length = length;
  }

  /**
   * @param {Change} change
   * @param {() => Promise<any>} recover  see Session.change()
   * @returns {Promise<any>}
   */
  change({ compare, success, failure }, recover) {
    return this.session.change(compare, success, failure, recover);
  }

  /**
   * A change that writes for another session, whose lease may be gone.
   * @param {Change} change
   * @param {() => Promise<any>} recover
   * @returns {Promise<any>} undefined: it is gone
   */
  async tryChange(change, recover) {
    try {
      return await this.change(change, recover);
    } catch (error) {
      if (/** @type {EtcdError} */ (error).isLeaseGone) return undefined;
      throw error;
    }
  }

  /**
   * Finds a request in the cluster.
   * @param {EtcdRequest} request
   * @returns {Promise<Found | undefined>} undefined: nowhere
   */
  async findOwn(request) {
    const { responses } = await this.session.read(this.changes.readOwn(request));
    const [held, queued, mail] = responses.map((response) => keyValuesOf(response)[0]);
    if (held !== undefined) {
      request.hasMail = true; // perhaps
      return { found: HELD, revision: held.create_revision };
    }
    if (queued !== undefined) return { found: WAITING, revision: queued.create_revision };
    const told = mail === undefined ? {} : JSON.parse(String(mail.value));
    const isStolen = told.stolen && request.isMeant(told, mail.mod_revision);
    return isStolen ? { found: OVER, revision: mail.mod_revision } : undefined;
  }

  /**
   * Removes everything of a stolen lock from the cluster, even if it was requested once more. If
   * one transaction cannot notify all previous holders, the last ones receive the loss later.
   * @param {EtcdRequest} request
   */
  async erase(request) {
    const { ids } = this.session;
    if (ids.find(request.id) !== request) return; // it was erased before
    await this.change(this.changes.erase(request), async () => undefined);
    ids.giveBack(request);
  }

  /**
   * Notifies each separately, because the lease of any may be gone.
   * @param {Victim[]} victims  of a theft that has been carried out
   */
  async tellThefts(victims) {
    for (let i = 0; i < victims.length; i += MAX_BATCH) {
      const notices = victims.slice(i, i + MAX_BATCH).map((victim) => {
        const success = [this.changes.theftNotice(victim)];
        return this.tryChange({ compare: [], success, failure: [] }, async () => undefined);
      });
      await Promise.all(notices);
    }
  }

  /**
   * The changes that are made together with the end of a request.
   * @param {EtcdRequest} request
   * @param {string | undefined} why
   */
  extraOf(request, why) {
    const mail = request.hasMail ? [remove(this.#bucket.mail(request.id))] : [];
    return [...mail, ...this.whyOf([request], why)];
  }

  /**
   * @param {EtcdRequest[]} requests
   * @param {string | undefined} why  they end
   */
  whyOf(requests, why) {
    if (why === undefined) return [];
    const { lease, leaseId } = this.session;
    const words = [why, ...requests.map(({ id }) => id)];
    return [put(this.#bucket.why(leaseId), words.join(' '), lease)];
  }

  /** @returns {Promise<QueueState & { revision: string }>} */
  async readState() {
    const { revision, responses } = await this.session.read(this.changes.readState(this.#length));
    return { revision, ...(await this.toState(responses)) };
  }

  /**
   * @param {any[]} responses  of what reads the state
   * @returns {Promise<QueueState>}
   */
  async toState(responses) {
    const [queue, exclusive, shared] = responses;
    const counts = { exclusive: numberIn(exclusive), shared: numberIn(shared) };
    return { ...(await this.#toFront(queue)), ...counts };
  }

  /** @returns {Promise<Front & { revision: string }>} */
  async readFront() {
    const { revision, responses } = await this.session.read([this.changes.readHeads(this.#length)]);
    return { revision, ...(await this.#toFront(responses[0])) };
  }

  /** @param {any} response @returns {Promise<Front>} */
  async #toFront(response) {
    const { undecided, ...front } = toFront(response, this.#bucket);
    this.#length = front.length;
    const heads = undecided === undefined ? front.heads : await this.#readMadeAt(undecided);
    this.order.learn(heads);
    return { ...front, heads };
  }

  /** @param {string} revision @returns {Promise<Waiter[]>} that took their places at that one */
  async #readMadeAt(revision) {
    const { responses } = await this.session.read([getMadeAt(this.keys.queue, revision)]);
    return toWaiters(keyValuesOf(responses[0]), this.#bucket);
  }

  /**
   * Grants the lock to the first of the queue.
   * @param {Waiter} head
   * @param {Waiter[]} rest
   * @returns {Promise<string | undefined>} the revision; undefined: it is not there any more
   */
  async grant(head, rest) {
    const change = this.changes.grant(head, rest, this.session.leaseId);
    // If the change is in doubt, the head is read again.
    const answer = await this.tryChange(change, async () => ({ succeeded: false }));
    return answer?.succeeded ? answer.revision : undefined;
  }

  /** @param {Waiter} waiter */
  isOwn({ id }) {
    return id.startsWith(this.session.leaseId);
  }
}

module.exports = { NameAccess };
