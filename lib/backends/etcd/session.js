'use strict';

const { Backoff } = require('../remote/backoff.js');
const { SessionLost } = require('../remote/lock-session.js');
const { SessionCalls } = require('./session-calls.js');
const {
  following,
  get,
  getAll,
  isChangedAt,
  keyValuesOf,
  nested,
  put,
} = require('./transaction.js');
const { endOf, numberOf, toLeaseId, toRequestId } = require('./keys.js');
const { EtcdError } = require('./etcd-errors.js');
const { Lease } = require('./lease.js');
const { steadyNow } = require('../remote/steady-clock.js');
const { WatchStream } = require('./watch-stream.js');

/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */
/** @typedef {import('./name-lock.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./watch-stream.js').WatchEvent} WatchEvent */

/**
 * The answers to the requests that have entered, in the order in which they were sent. The cluster
 * may carry out changes of different names in any order, but an agent's callbacks run in the order
 * of its requests.
 */
class EntryOrder {
  /** Resolves when all answers so far are settled. @type {Promise<unknown>} */
  #settled = Promise.resolve();

  /**
   * Settles like the answer, and not before the answers to requests that were sent earlier.
   * @template T
   * @param {(leave: () => void) => Promise<T>} send  leave: later ones do not wait for its answer
   * @returns {Promise<T>}
   */
  async pass(send) {
    const earlier = this.#settled;
    /** @type {() => void} */
    let leave = () => {};
    const left = /** @type {Promise<void>} */ (new Promise((resolve) => (leave = resolve)));
    const answer = send(leave);
    const end = Promise.race([answer, left]);
    this.#settled = Promise.allSettled([earlier, end]).then(() => {}); // keeps no results
    await earlier;
    return await answer;
  }
}

/** The compare guard of a session (S1): the revision at which its own key was written last. */
class SessionGuard {
  #calls;
  #key;
  #lease;
  #abandon;
  #revision = '0';
  /** The value of the key. */
  #value = '';
  /** @type {Promise<void> | undefined} */
  #move;

  /**
   * @param {SessionCalls} calls
   * @param {string} key  the session's own one
   * @param {string} lease
   * @param {() => void} abandon  the session: its key is not what it was
   */
  constructor(calls, key, lease, abandon) {
    this.#calls = calls;
    this.#key = key;
    this.#lease = lease;
    this.#abandon = abandon;
  }

  /**
   * @param {string} value  which stands in the key
   * @param {string} revision
   */
  begin(value, revision) {
    this.#value = value;
    this.#revision = revision;
  }

  get revision() {
    return this.#revision;
  }

  /** Waits while the guard is moved: a change that is sent meanwhile comes too late for it. */
  async untilStill() {
    while (this.#move !== undefined) await this.#move;
  }

  /**
   * After this no change that was bound to that guard can happen any more.
   * @param {string} guard
   */
  async moveFrom(guard) {
    while (this.#revision === guard) {
      this.#move ??= this.#write(guard).finally(() => {
        this.#move = undefined;
      });
      await this.#move; // perhaps away from an older one: then this one is moved next
    }
  }

  /**
   * Only the first try that arrives moves it: a later one would undo the changes that are bound to
   * the new guard.
   * @param {string} guard
   */
  async #write(guard) {
    const backoff = new Backoff();
    for (;;) {
      this.#calls.checkLives();
      try {
        const answer = await this.#calls.repeat('KV', 'Txn', {
          compare: [isChangedAt(this.#key, guard)],
          // Nested like the changes, so that the cluster takes it where it takes them.
          success: [nested([], [put(this.#key, this.#value, this.#lease)])],
          failure: [get(this.#key)],
        });
        if (answer.succeeded) this.adopt(answer.header.revision);
        else this.read(keyValuesOf(answer.responses[0]), guard);
        return;
      } catch (error) {
        if (error instanceof SessionLost) throw error;
        const { isFinal, isLeaseGone, isForSpace } = /** @type {EtcdError} */ (error);
        // Changes wait for the guard: a guard that can never be moved must not stall them for ever.
        if (isLeaseGone || (isFinal !== false && !isForSpace)) this.#abandon();
        await backoff.pause();
      }
    }
  }

  /**
   * @param {any[]} keyValues  the session's own key, or nothing
   * @param {string} guard  that it did not have
   */
  read(keyValues, guard) {
    const revision = keyValues[0]?.mod_revision;
    // An older one is of a cluster that was set back to a copy of its data.
    if (revision === undefined || BigInt(revision) < BigInt(guard)) this.#abandon();
    else this.adopt(revision);
  }

  /** @param {string} revision */
  adopt(revision) {
    if (BigInt(revision) > BigInt(this.#revision)) this.#revision = revision;
  }
}

/**
 * The ids of one session's requests, which are used again: a key that is gone stays in etcd's index
 * until a compaction, and each range over its name passes it.
 */
class RequestIds {
  #leaseId;
  /** @type {Map<string, EtcdRequest>} */
  #users = new Map();
  /** @type {number[]} that were returned; the last one is taken first */
  #free = [];
  /** So many numbers have been in use. */
  #count = 0;

  /** @param {string} leaseId */
  constructor(leaseId) {
    this.#leaseId = leaseId;
  }

  /**
   * @param {EtcdRequest[]} requests  in their order: keys that are written together are in the
   *   order of their ids
   */
  take(requests) {
    const numbers = this.#free.splice(Math.max(0, this.#free.length - requests.length));
    while (numbers.length < requests.length) numbers.push((this.#count += 1));
    numbers.sort((a, b) => a - b);
    for (const [index, request] of requests.entries()) {
      request.id = toRequestId(this.#leaseId, numbers[index]);
      this.#users.set(request.id, request);
    }
  }

  /** @param {string} id */
  find(id) {
    return this.#users.get(id);
  }

  /**
   * The cluster has no key of the request in its name, and no change that could write one is under
   * way.
   * @param {EtcdRequest} request
   */
  free(request) {
    if (this.retire(request)) this.#free.push(numberOf(request.id));
  }

  /**
   * The id is not used again.
   * @param {EtcdRequest} request
   * @returns {boolean} whether it was in use by this request
   */
  retire(request) {
    const { id } = request;
    return this.#users.get(id) === request && this.#users.delete(id);
  }
}

/**
 * @typedef {object} SessionHost  receives the events of a session
 * @property {(request: EtcdRequest, notice: object, revision: string) => void} onNotice
 * @property {() => void} onNoticeGap  notices may have been missed
 * @property {(leftMs: number) => void} onExtended
 * @property {() => void} onLost
 */

/** The lease of the overtakes lasts so long: they are forgotten that time after the last one. */
const LASTING_S = 3600;

/**
 * A lease of the cluster, and all that hangs on it.
 *
 * S1  Every change of the session is bound to its compare guard: the revision at which the
 *     session's own key was written last. A change whose answer never came is made impossible by
 *     writing that key again; what has happened by then has happened, and can be read.
 */
class Session {
  #calls;
  #lease;
  #keys;
  #host;
  #ttlMs;
  #sessionKey;
  #guard;
  /** The lease that outlives the session. */
  #lasting = { id: '', untilMs: 0 };
  leaseId;
  ids;
  /** Of steals and of what the session waits for. */
  watches;
  /** Of all changes in a bucket: thousands of them must not keep grants waiting. */
  bucketWatches;
  /** Of both streams. */
  #watchCounts = { reconnects: 0, events: 0, messages: 0, gaps: 0 };
  entries = new EntryOrder();

  /**
   * @param {EtcdClient} client
   * @param {BucketKeys} keys
   * @param {number} ttlMs
   * @param {SessionHost} host
   */
  constructor(client, keys, ttlMs, host) {
    this.#keys = keys;
    this.#ttlMs = ttlMs;
    this.#host = host;
    this.#calls = new SessionCalls(client, ttlMs);
    this.watches = new WatchStream(client, this.#watchCounts);
    this.bucketWatches = new WatchStream(client, this.#watchCounts);
    this.#lease = new Lease(this.#calls, ttlMs, {
      onTick: () => {
        this.watches.check();
        this.bucketWatches.check();
      },
      onExtended: (leftMs) => host.onExtended(leftMs),
      onLost: () => this.abandon(),
    });
    this.leaseId = toLeaseId(this.#lease.id);
    this.#sessionKey = keys.sessionKey(this.leaseId);
    this.#guard = new SessionGuard(this.#calls, this.#sessionKey, this.lease, () => this.abandon());
    this.ids = new RequestIds(this.leaseId);
  }

  get lease() {
    return this.#lease.id;
  }

  get isOver() {
    return this.#calls.isOver;
  }

  /** For metrics. */
  get status() {
    return {
      lease: this.leaseId,
      leaseAgeMs: this.#lease.ageMs,
      leaseLeftMs: this.#lease.leftMs,
      ...this.#calls.counts,
      watch: { ...this.#watchCounts },
    };
  }

  /**
   * Takes a lease, and writes the session's own key.
   * @param {string} value  of that key
   * @throws EtcdError, SessionLost (rejects)
   */
  async open(value) {
    await this.#lease.take();
    // A watch that is not allowed would only be silent: so it reads, too.
    const written = await this.#calls.repeat('KV', 'Txn', {
      success: [
        put(this.#sessionKey, value, this.lease),
        getAll(this.#keys.notifications(this.leaseId)),
      ],
    });
    this.#guard.begin(value, written.header.revision);
    const notifications = this.#keys.notifications(this.leaseId);
    const from = following(this.#guard.revision);
    const watches = [
      this.watches.add({
        ...{ key: notifications, end: endOf(notifications), from, only: 'puts' },
        onEvents: (events) => this.#onNotices(events),
        onGap: () => this.#host.onNoticeGap(),
      }),
      this.watches.add({
        ...{ key: this.#sessionKey, from, only: 'removals' },
        onEvents: () => this.abandon(),
        // Its end may have been missed. If it cannot be read, the next change finds out.
        onGap: () => void this.read([]).catch(() => {}),
      }),
    ];
    await this.#calls.first(() => Promise.all(watches.map(({ ready }) => ready)), 1);
  }

  /**
   * Gives ids to requests that the cluster has not been asked for.
   * @param {EtcdRequest[]} requests  in their order
   * @throws SessionLost
   */
  identify(requests) {
    this.#calls.checkLives(); // else they may be of the next session already
    this.ids.take(requests);
  }

  /**
   * Carries out a change, once.
   * @param {object[]} compare
   * @param {object[]} success
   * @param {object[]} failure
   * @param {() => Promise<any>} recover  finds out whether the change has been made: its result is
   *   given then; undefined: it was not
   * @returns {Promise<any>} `{ revision, succeeded, responses }`
   * @throws EtcdError when it cannot be made; SessionLost (rejects)
   */
  async change(compare, success, failure, recover) {
    const backoff = new Backoff();
    for (;;) {
      this.#calls.checkLives();
      await this.#guard.untilStill();
      const found = await this.#tryChange(nested(compare, success, failure), recover);
      if (found !== undefined) return found;
      await backoff.pause();
    }
  }

  /**
   * @param {object} change
   * @param {() => Promise<any>} recover
   * @returns {Promise<any>} undefined: it was not made
   */
  async #tryChange(change, recover) {
    let guard = '';
    const send = () => {
      guard = this.#guard.revision; // only now: it may move while the call waits to be sent
      return this.#calls.once('KV', 'Txn', {
        compare: [isChangedAt(this.#sessionKey, guard)],
        success: [change],
        failure: [get(this.#sessionKey)],
      });
    };
    const findOut = async () => ({ found: await this.#findOut(guard, recover) });
    try {
      const answer = await this.#calls.first((index) => (index === 0 ? send() : findOut()), 2);
      this.#calls.checkLives();
      if ('found' in answer) return answer.found;
      if (!answer.succeeded) {
        this.#guard.read(keyValuesOf(answer.responses[0]), guard);
        return undefined;
      }
      const { succeeded, responses } = answer.responses[0].response_txn;
      return { revision: answer.header.revision, succeeded, responses };
    } catch (error) {
      if (error instanceof SessionLost) throw error;
      const { isInDoubt, isFinal, isLeaseGone, isForSpace } = /** @type {EtcdError} */ (error);
      if (isLeaseGone) this.#lasting.untilMs = 0; // perhaps that one
      if (isForSpace) {
        // A member that runs out of room says so also of a change that it has just carried out.
        const found = await this.#complete(recover());
        if (found === undefined || found.succeeded === false) throw error;
        return found;
      }
      if (isFinal !== false || isLeaseGone) throw error;
      return isInDoubt ? this.#findOut(guard, recover) : undefined;
    }
  }

  /**
   * @param {string} guard
   * @param {() => Promise<any>} recover
   */
  async #findOut(guard, recover) {
    this.#calls.counts.inDoubt += 1;
    await this.#guard.moveFrom(guard);
    return this.#complete(recover());
  }

  /**
   * An operation that has begun and cannot be completed has to end with the session.
   * @template T
   * @param {Promise<T>} completion
   * @returns {Promise<T>}
   */
  async #complete(completion) {
    try {
      return await completion;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      this.abandon();
      throw new SessionLost();
    }
  }

  /**
   * Reads, at one revision and no older than this call. The keys of a session that has ended are
   * gone: their absence says nothing of its requests.
   * @param {object[]} ops
   * @returns {Promise<{ revision: string, responses: any[] }>}
   * @throws EtcdError when it cannot be read; SessionLost (rejects)
   */
  async read(ops) {
    const guard = this.#guard.revision;
    const success = [...ops, get(this.#sessionKey)];
    const { header, responses } = await this.#untilFinal('KV', 'Txn', { success });
    this.#guard.read(keyValuesOf(responses.pop()), guard);
    this.#calls.checkLives();
    return { revision: header.revision, responses };
  }

  /**
   * A call that may be made more than once.
   * @param {'KV' | 'Lease'} service
   * @param {string} method
   * @param {object} request
   * @returns {Promise<any>}
   * @throws EtcdError, SessionLost (rejects)
   */
  async #untilFinal(service, method, request) {
    const backoff = new Backoff();
    for (;;) {
      this.#calls.checkLives();
      try {
        const answer = await this.#calls.repeat(service, method, request);
        this.#calls.checkLives();
        return answer;
      } catch (error) {
        if (/** @type {EtcdError} */ (error).isFinal !== false) throw error;
        await backoff.pause();
      }
    }
  }

  /**
   * @returns {Promise<string>} a lease that outlives the session: half an hour to an hour
   * @throws EtcdError when it cannot be had; SessionLost (rejects)
   */
  async lastingLease() {
    if (steadyNow() < this.#lasting.untilMs) return this.#lasting.id;
    const untilMs = steadyNow() + (LASTING_S * 1000) / 2;
    const request = { TTL: String(LASTING_S), ID: '0' };
    const { ID: id } = await this.#untilFinal('Lease', 'LeaseGrant', request);
    this.#lasting = { id, untilMs };
    return id;
  }

  /**
   * @returns {Promise<string | undefined>} of the member; undefined: this user may not ask, which
   *   only members refuse that are new enough
   */
  async readVersion() {
    try {
      const { version } = await this.#calls.repeat('Maintenance', 'Status', {});
      return version;
    } catch (error) {
      if (/** @type {EtcdError} */ (error).isForbidden) return undefined;
      throw error;
    }
  }

  /**
   * Ends the session; the cluster forgets everything of it. Tries as long as the lease may live.
   * If no grant of the lease is known, there is nothing but the lease, which runs out.
   */
  async close() {
    const wasOver = this.isOver;
    const until = steadyNow() + this.#ttlMs;
    this.#end();
    if (!this.#lease.isTaken) return;
    const { client } = this.#calls;
    if (!wasOver) {
      const goodbye = { success: [put(this.#keys.why(this.leaseId), 'closed', this.lease)] };
      // Without it the session still ends, and looks like a death to watchers.
      await this.#calls.once('KV', 'Txn', goodbye, client.lateMs).catch(() => {});
    }
    const backoff = new Backoff();
    while (steadyNow() < until && !client.isClosed) {
      try {
        await this.#calls.once('Lease', 'LeaseRevoke', { ID: this.lease }, client.lateMs);
        return;
      } catch (error) {
        const { isFinal, isLeaseGone } = /** @type {EtcdError} */ (error);
        if (isLeaseGone || isFinal !== false) return; // this user may not end it: it runs out
        await backoff.pause();
      }
    }
  }

  /** It is no use: gives the session up, as if the lease had run out. */
  abandon() {
    if (this.isOver) return;
    this.#end();
    this.#host.onLost();
  }

  #end() {
    this.#lease.stop();
    this.watches.close();
    this.bucketWatches.close();
    this.#calls.end();
  }

  /** @param {WatchEvent[]} events */
  #onNotices(events) {
    for (const { key, value, revision } of events) {
      if (this.isOver) return;
      const request = this.ids.find(key.slice(key.lastIndexOf('/') + 1));
      if (request !== undefined) this.#host.onNotice(request, JSON.parse(value), revision);
    }
  }
}

module.exports = { EntryOrder, RequestIds, Session };
