'use strict';

const { randomBytes } = require('node:crypto');
const { steadyNow } = require('../remote/steady-clock.js');
const { clearTimeout, setImmediate, setTimeout } = require('../../time.js');
const { Backoff } = require('../remote/backoff.js');

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./session-calls.js').SessionCalls} SessionCalls */

/** Parts of the lease's time: between keep-alives, before the end. */
const KEEP_ALIVE_PART = 1 / 5;
const MARGIN_PART = 1 / 10;

/** A number that no other lease has: a grant whose answer is late can be asked for again. */
const newLease = () => (randomBytes(8).readBigUInt64BE() >> 1n || 1n).toString();

/**
 * A lease of the cluster that is kept alive.
 *
 * S2  It counts as lost, here, before the cluster can have ended it: it was extended no earlier
 *     than the last keep-alive with an answer was sent.
 */
class Lease {
  #calls;
  #ttlMs;
  #host;
  /** By the steady clock. */
  #validUntil = 0;
  #sentAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #deadline;
  /** @type {NodeJS.Timeout | undefined} until the next keep-alive */
  #beat;
  #isOver = false;
  id = newLease();
  /** The cluster has granted it. */
  isTaken = false;

  /**
   * @param {SessionCalls} calls
   * @param {number} ttlMs
   * @param {{ onTick: () => void, onLost: () => void, onExtended: (leftMs: number) => void }} host
   *   onTick: a keep-alive is due
   */
  constructor(calls, ttlMs, host) {
    this.#calls = calls;
    this.#ttlMs = ttlMs;
    this.#host = host;
  }

  /** The time left before the lease counts as lost. */
  get leftMs() {
    return this.#isOver ? 0 : Math.max(0, this.#validUntil - steadyNow());
  }

  /** Since it was extended. */
  get ageMs() {
    return steadyNow() - this.#sentAt;
  }

  /** @throws EtcdError, SessionLost (rejects) */
  async take() {
    const sentAt = steadyNow();
    const request = { TTL: String(Math.ceil(this.#ttlMs / 1000)), ID: this.id };
    await this.#calls.first(async () => {
      try {
        await this.#calls.once('Lease', 'LeaseGrant', request);
      } catch (error) {
        const isThere = /** @type {EtcdError} */ (error).details?.includes('already exists');
        // No other lease has its number. An earlier try has made it, by this session or by gRPC,
        // which sends a call again that it takes for not processed.
        if (!isThere) throw error;
      }
    });
    this.isTaken = true;
    this.#extend(sentAt, this.#ttlMs);
    if (this.ageMs > this.#ttlMs * KEEP_ALIVE_PART) void this.#keepAlive(); // it was due already
    this.#awaitBeat();
  }

  /** It is not kept alive any more. */
  stop() {
    this.#isOver = true;
    for (const timer of [this.#deadline, this.#beat]) clearTimeout(timer);
  }

  /**
   * @param {number} sentAt  of what extended it
   * @param {number} ms
   */
  #extend(sentAt, ms) {
    if (this.#isOver || sentAt <= this.#sentAt) return;
    this.#sentAt = sentAt;
    this.#validUntil = sentAt + ms * (1 - MARGIN_PART);
    this.#host.onExtended(this.leftMs);
    this.#armDeadline();
  }

  #armDeadline() {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => {
      // A thread that waited for its turn reads first what has come meanwhile.
      setImmediate(() => {
        if (this.#isOver) return;
        if (this.leftMs === 0) this.#host.onLost();
        else this.#armDeadline();
      });
    }, this.leftMs);
  }

  /** Keep-alives do not wait for each other: the answer to each one counts, however late it is. */
  #awaitBeat() {
    this.#beat = setTimeout(() => {
      this.#awaitBeat();
      this.#host.onTick();
      if (this.leftMs === 0) this.#armDeadline(); // timers stood still while it was suspended
      void this.#keepAlive();
    }, this.#ttlMs * KEEP_ALIVE_PART);
  }

  /** Until it has succeeded, or a later one has. */
  async #keepAlive() {
    const begin = steadyNow();
    const backoff = new Backoff();
    while (!this.#isOver && this.#sentAt < begin) {
      try {
        await this.#calls.first(() => this.#sendKeepAlive(), Infinity, true);
      } catch {
        if (!this.#isOver) await backoff.pause();
      }
    }
  }

  async #sendKeepAlive() {
    const sentAt = steadyNow();
    const request = { ID: this.id };
    const { client } = this.#calls;
    const { TTL } = await client.call('Lease', 'LeaseKeepAlive', request, this.#ttlMs);
    if (this.#isOver) return;
    this.#calls.counts.keepAlives += 1;
    if (Number(TTL) > 0) this.#extend(sentAt, Number(TTL) * 1000);
    else this.#host.onLost();
  }
}

module.exports = { Lease };
