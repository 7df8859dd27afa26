'use strict';

const { clearTimeout, performance, setTimeout } = require('../../time.js');
const { bytes, get, isChangedAt, nested, put, textOf } = require('./transaction.js');
const { endOf, toLeaseId } = require('./keys.js');
const { steadyNow } = require('./steady-clock.js');
const { WatchStream } = require('./watch-stream.js');

/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */
/** @typedef {import('./etcd-client.js').EtcdError} EtcdError */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./watch-stream.js').WatchEvent} WatchEvent */

/**
 * @typedef {object} SessionHost  who is told what happens to a session
 * @property {(event: WatchEvent) => void} onMail
 * @property {() => void} onMailGap  mail may have been missed
 * @property {() => void} onLost
 */

/** Parts of the lease's time: between keep-alives, of one try, before the end. */
const KEEP_ALIVE_PART = 1 / 5;
const TRY_PART = 1 / 5;
const MARGIN_PART = 1 / 10;
const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;

/** The session has ended: everything that it held or waited for is gone. */
class SessionLost extends Error {}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Grows, with a random part, from try to try. */
class Backoff {
  #ms = MIN_PAUSE_MS;

  async pause() {
    await sleep(this.#ms * (0.5 + Math.random()));
    this.#ms = Math.min(2 * this.#ms, MAX_PAUSE_MS);
  }
}

/**
 * A lease of the cluster that is kept alive, and all that hangs on it.
 *
 * S1  Every change of the session's is bound to its fence: the revision at which the session's own
 *     key was written last. A change whose answer never came is made impossible by writing that key
 *     again; what has happened by then has happened, and can be read.
 * S2  The session counts as lost, here, before the cluster can have ended its lease: the lease was
 *     extended no earlier than the last keep-alive with an answer was sent.
 */
class Session {
  #client;
  #keys;
  #host;
  #ttlMs;
  #about = '';
  /** What stands in it. */
  #value = '';
  /** By the steady clock. */
  #validUntil = 0;
  #fence = '0';
  /** @type {Promise<void> | undefined} */
  #fenceMove;
  /** @type {NodeJS.Timeout | undefined} */
  #deadline;
  #isOver = false;
  #sentAt = 0;
  lease = '';
  leaseId = '';
  watches;
  counts = { roundTrips: 0, roundTripMs: 0, keepAlives: 0, inDoubt: 0 };

  /**
   * @param {EtcdClient} client
   * @param {BucketKeys} keys
   * @param {number} ttlMs
   * @param {SessionHost} host
   */
  constructor(client, keys, ttlMs, host) {
    this.#client = client;
    this.#keys = keys;
    this.#ttlMs = ttlMs;
    this.#host = host;
    this.watches = new WatchStream(client, this.tryMs);
  }

  get isOver() {
    return this.#isOver;
  }

  /** The longest that one try of a call may take. */
  get tryMs() {
    return this.#ttlMs * TRY_PART;
  }

  /** What is left of the lease before the session counts as lost. */
  get leftMs() {
    return this.#isOver ? 0 : Math.max(0, this.#validUntil - steadyNow());
  }

  /** Since the lease was extended. */
  get leaseAgeMs() {
    return steadyNow() - this.#sentAt;
  }

  /**
   * Takes a lease, and writes the session's own key.
   * @param {string} value  of that key
   * @throws EtcdError, SessionLost (rejects)
   */
  async open(value) {
    const sentAt = steadyNow();
    const seconds = Math.ceil(this.#ttlMs / 1000);
    const grant = await this.#call('Lease', 'LeaseGrant', { TTL: String(seconds), ID: '0' });
    this.lease = grant.ID;
    this.leaseId = toLeaseId(grant.ID);
    this.#extend(sentAt, Number(grant.TTL));
    this.#about = this.#keys.about(this.leaseId);
    const written = await this.#call('KV', 'Txn', {
      success: [put(this.#about, value, this.lease)],
    });
    this.#fence = written.header.revision;
    this.#value = value;
    const prefix = this.#keys.session(this.leaseId);
    const watch = this.watches.add({
      key: prefix,
      end: endOf(prefix),
      from: (BigInt(this.#fence) + 1n).toString(),
      onEvents: (events) => this.#onEvents(events),
      onGap: () => this.#host.onMailGap(),
    });
    await Promise.race([watch.ready, sleep(this.leftMs)]);
    if (!watch.isReady) throw new SessionLost();
    this.#keepAlive();
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
      this.#checkLives();
      const fence = this.#fence;
      try {
        const answer = await this.#call('KV', 'Txn', {
          compare: [isChangedAt(this.#about, fence)],
          success: [nested(compare, success, failure)],
          failure: [get(this.#about)],
        });
        this.#checkLives();
        if (answer.succeeded) {
          const { succeeded, responses } = answer.responses[0].response_txn;
          return { revision: answer.header.revision, succeeded, responses };
        }
        this.#readFence(answer.responses[0].response_range.kvs);
      } catch (error) {
        if (error instanceof SessionLost) throw error;
        const { isInDoubt, isFinal, isLeaseGone } = /** @type {EtcdError} */ (error);
        if (isFinal !== false || isLeaseGone) throw error;
        const found = isInDoubt ? await this.#findOut(fence, recover) : undefined;
        if (found !== undefined) return found;
        await backoff.pause();
      }
    }
  }

  /**
   * @param {string} fence
   * @param {() => Promise<any>} recover
   */
  async #findOut(fence, recover) {
    this.counts.inDoubt += 1;
    await this.#moveFence(fence);
    return recover();
  }

  /**
   * Reads, at one revision and no older than this call.
   * @param {object[]} ops
   * @returns {Promise<{ revision: string, responses: any[] }>}
   * @throws EtcdError when it cannot be read; SessionLost (rejects)
   */
  async read(ops) {
    const backoff = new Backoff();
    for (;;) {
      this.#checkLives();
      try {
        const { header, responses } = await this.#call('KV', 'Txn', { success: ops });
        this.#checkLives();
        return { revision: header.revision, responses };
      } catch (error) {
        if (/** @type {EtcdError} */ (error).isFinal !== false) throw error;
        await backoff.pause();
      }
    }
  }

  /** Ends the session; the cluster forgets everything of it. Tries as long as the lease lives. */
  async close() {
    const isOver = this.#isOver;
    const until = isOver ? steadyNow() + this.#ttlMs : this.#validUntil;
    this.#end();
    if (!isOver) await this.#sayGoodbye();
    const backoff = new Backoff();
    while (this.lease !== '' && steadyNow() < until) {
      try {
        await this.#call('Lease', 'LeaseRevoke', { ID: this.lease });
        return;
      } catch (error) {
        if (!(/** @type {EtcdError} */ (error).isInDoubt)) return; // it is gone already
        await backoff.pause();
      }
    }
  }

  /** Tells watchers that the session was closed, and did not die. */
  async #sayGoodbye() {
    const goodbye = put(this.#keys.why(this.leaseId), 'closed', this.lease);
    try {
      await this.#call('KV', 'Txn', { success: [goodbye] });
    } catch {
      // The session ends all the same, and looks like a death.
    }
  }

  /** It is no use: gives the session up, as if the lease had run out. */
  abandon() {
    if (this.#isOver) return;
    this.#end();
    this.#host.onLost();
  }

  #checkLives() {
    if (this.#isOver) throw new SessionLost();
  }

  #end() {
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.watches.close();
  }

  /**
   * @param {'KV' | 'Lease'} service
   * @param {string} method
   * @param {object} request
   */
  async #call(service, method, request) {
    const start = performance.now();
    const answer = await this.#client.call(service, method, request, this.tryMs);
    this.counts.roundTrips += 1;
    this.counts.roundTripMs += performance.now() - start;
    return answer;
  }

  /**
   * @param {number} sentAt  of what extended the lease
   * @param {number} seconds
   */
  #extend(sentAt, seconds) {
    this.#sentAt = sentAt;
    this.#validUntil = sentAt + seconds * 1000 * (1 - MARGIN_PART);
    this.#armDeadline();
  }

  #armDeadline() {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(
      () => {
        if (steadyNow() >= this.#validUntil) this.abandon();
        else this.#armDeadline();
      },
      Math.max(0, this.#validUntil - steadyNow()),
    );
  }

  async #keepAlive() {
    const backoff = new Backoff();
    while (!this.#isOver) {
      await sleep(this.#ttlMs * KEEP_ALIVE_PART);
      this.watches.check();
      while (!this.#isOver && !(await this.#tryKeepAlive())) await backoff.pause();
      if (steadyNow() >= this.#validUntil) this.abandon();
    }
  }

  /** @returns {Promise<boolean>} whether the cluster has answered */
  async #tryKeepAlive() {
    const sentAt = steadyNow();
    const { endpoint } = this.#client;
    try {
      const seconds = await this.#extendOnce();
      if (this.#isOver) return true;
      this.counts.keepAlives += 1;
      if (seconds > 0) this.#extend(sentAt, seconds);
      else this.abandon();
      return true;
    } catch {
      this.#client.leave(endpoint);
      return false;
    }
  }

  /** @returns {Promise<number>} seconds; 0: the lease is gone */
  async #extendOnce() {
    const stream = await this.#client.openStream('Lease', 'LeaseKeepAlive', this.tryMs);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => stream.cancel(), this.tryMs);
      const finish = (/** @type {() => void} */ settle) => {
        clearTimeout(timer);
        settle();
      };
      stream.on('data', (/** @type {any} */ { TTL }) => {
        finish(() => resolve(Number(TTL)));
        stream.end();
      });
      stream.on('error', (/** @type {Error} */ error) => finish(() => reject(error)));
      stream.on('end', () => finish(() => reject(new Error('no answer'))));
      stream.write({ ID: this.lease });
    });
  }

  /**
   * After this no change that was bound to that fence can happen any more.
   * @param {string} fence
   */
  async #moveFence(fence) {
    if (this.#fence !== fence) return;
    this.#fenceMove ??= this.#writeFence().finally(() => {
      this.#fenceMove = undefined;
    });
    await this.#fenceMove;
  }

  async #writeFence() {
    const backoff = new Backoff();
    for (;;) {
      this.#checkLives();
      try {
        const answer = await this.#call('KV', 'Txn', {
          compare: [{ ...isExisting(this.#about) }],
          success: [put(this.#about, this.#value, this.lease)],
        });
        if (!answer.succeeded) this.abandon();
        else this.#adoptFence(answer.header.revision);
        return;
      } catch (error) {
        if (/** @type {EtcdError} */ (error).isLeaseGone) this.abandon();
        await backoff.pause();
      }
    }
  }

  /** @param {any[]} keyValues  the session's own key, or nothing */
  #readFence(keyValues) {
    if (keyValues.length === 0) this.abandon();
    else this.#adoptFence(keyValues[0].mod_revision);
  }

  /** @param {string} revision */
  #adoptFence(revision) {
    if (BigInt(revision) > BigInt(this.#fence)) this.#fence = revision;
  }

  /** @param {WatchEvent[]} events */
  #onEvents(events) {
    for (const event of events) {
      if (this.#isOver) return;
      if (event.key === this.#about) {
        if (!event.isPut) this.abandon();
      } else if (event.isPut && this.#keys.isMail(event.key)) {
        this.#host.onMail(event);
      }
    }
  }
}

/** @param {string} key */
const isExisting = (key) => ({ result: 1, target: 1, key: bytes(key), create_revision: '0' });

module.exports = { Backoff, Session, SessionLost, sleep, textOf };
