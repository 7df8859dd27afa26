'use strict';

const { randomBytes } = require('node:crypto');
const { steadyNow } = require('../remote/steady-clock.js');
const { clearTimeout, setImmediate, setTimeout } = require('../../time.js');
const { Backoff } = require('../remote/backoff.js');

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./session-calls.js').SessionCalls} SessionCalls */

/**
 * @typedef {object} KeepAliveHost
 * @property {(sentAt: number, ttlMs: number) => void} onAnswer  sentAt: of its message
 * @property {(error: unknown) => void} onEnd  it has failed, or the member has ended it
 */

/**
 * The keep-alives of a lease over one connection. A member answers them in the order in which they
 * were sent, and each answer counts, however late it is.
 */
class KeepAliveStream {
  #stream;
  #connection;
  /** When each one was sent that has no answer, oldest first. @type {number[]} */
  #sent = [];
  lastSentAt = steadyNow();
  #isOver = false;
  #isLeft = false;

  /**
   * @param {any} stream
   * @param {Connection} connection
   * @param {KeepAliveHost} host
   */
  constructor(stream, connection, { onAnswer, onEnd }) {
    this.#stream = stream;
    this.#connection = connection;
    stream.on('data', (/** @type {any} */ { TTL }) => {
      const sentAt = this.#sent.shift();
      if (sentAt === undefined || this.#isOver) return;
      this.#endIfDone();
      onAnswer(sentAt, Number(TTL) * 1000);
    });
    const end = (/** @type {unknown} */ error) => {
      if (this.#isOver) return;
      this.#isOver = true;
      onEnd(error);
    };
    stream.on('error', end);
    stream.on('end', () => end(undefined));
  }

  get connection() {
    return this.#connection;
  }

  /** Whether a keep-alive message has no answer yet. */
  get isSilent() {
    return this.#sent.length > 0;
  }

  /** @param {string} lease */
  refresh(lease) {
    this.lastSentAt = steadyNow();
    this.#sent.push(this.lastSentAt);
    this.#stream.write({ ID: lease });
  }

  /** Sends no further message; the stream ends with the last answer. */
  leave() {
    this.#isLeft = true;
    this.#endIfDone();
  }

  /** Its answers are of no use any more. */
  close() {
    this.#isOver = true;
    this.#stream.cancel();
  }

  #endIfDone() {
    if (this.#isLeft && !this.isSilent && !this.#isOver) this.#stream.end();
  }
}

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
  #onTick;
  #onLost;
  #onExtended;
  /** By the steady clock. */
  #validUntil = 0;
  #sentAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #deadline;
  /** @type {NodeJS.Timeout | undefined} until the next keep-alive */
  #beat;
  /** @type {NodeJS.Timeout | undefined} until a failed call is tried again */
  #retry;
  #backoff = new Backoff();
  /** @type {KeepAliveStream | undefined} for the next keep-alive */
  #stream;
  /** @type {Set<KeepAliveStream>} with those that were left and have answers to come */
  #streams = new Set();
  #isOpening = false;
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
  constructor(calls, ttlMs, { onTick, onLost, onExtended }) {
    this.#calls = calls;
    this.#ttlMs = ttlMs;
    this.#onTick = onTick;
    this.#onLost = onLost;
    this.#onExtended = onExtended;
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
    for (const timer of [this.#deadline, this.#beat, this.#retry]) clearTimeout(timer);
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
    this.#stream = undefined;
  }

  /**
   * @param {number} sentAt  of what extended it
   * @param {number} ms
   */
  #extend(sentAt, ms) {
    if (this.#isOver || sentAt <= this.#sentAt) return;
    this.#sentAt = sentAt;
    this.#validUntil = sentAt + ms * (1 - MARGIN_PART);
    this.#onExtended(this.leftMs);
    this.#armDeadline();
  }

  #armDeadline() {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => {
      // A thread that waited for its turn reads first what has come meanwhile.
      setImmediate(() => {
        if (this.#isOver) return;
        if (this.leftMs === 0) this.#onLost();
        else this.#armDeadline();
      });
    }, this.leftMs);
  }

  /** Keep-alives do not wait for each other: the answer to each one counts, however late it is. */
  #awaitBeat() {
    this.#beat = setTimeout(() => {
      this.#awaitBeat();
      this.#onTick();
      if (this.leftMs === 0) this.#armDeadline(); // timers stood still while it was suspended
      this.#forgetOldStreams();
      if (this.#stream?.isSilent) void this.#tryElsewhere(this.#stream.connection);
      void this.#keepAlive();
    }, this.#ttlMs * KEEP_ALIVE_PART);
  }

  /** @param {Connection} connection */
  async #tryElsewhere(connection) {
    const { client } = this.#calls;
    await client.replace(connection);
    if (!this.#isOver && client.connection !== connection) await this.#keepAlive();
  }

  async #keepAlive() {
    if (this.#isOpening) return; // one follows as soon as there is a stream
    try {
      const { client } = this.#calls;
      if (this.#stream?.connection !== client.connection) {
        this.#isOpening = true;
        await this.#openStream();
      }
      this.#stream?.refresh(this.id);
    } catch {
      if (!this.#isOver) this.#retrySoon();
    } finally {
      this.#isOpening = false;
    }
  }

  /** @throws EtcdError (rejects) */
  async #openStream() {
    this.#stream?.leave();
    this.#stream = undefined;
    const { stream, connection } = await this.#calls.client.openStream('Lease', 'LeaseKeepAlive');
    const opened = new KeepAliveStream(stream, connection, {
      onAnswer: (sentAt, ttlMs) => this.#onAnswer(sentAt, ttlMs),
      onEnd: (error) => this.#onStreamEnd(opened, error),
    });
    if (this.#isOver) {
      opened.close();
      return;
    }
    this.#streams.add(opened);
    this.#stream = opened;
  }

  /** Those whose answers would come too late to extend the lease. */
  #forgetOldStreams() {
    const limit = steadyNow() - this.#ttlMs;
    for (const stream of this.#streams) {
      if (stream === this.#stream || stream.lastSentAt > limit) continue;
      stream.close();
      this.#streams.delete(stream);
    }
  }

  /**
   * @param {number} sentAt
   * @param {number} ms
   */
  #onAnswer(sentAt, ms) {
    if (this.#isOver) return;
    this.#backoff = new Backoff();
    this.#calls.counts.keepAlives += 1;
    if (ms > 0) this.#extend(sentAt, ms);
    else this.#onLost();
  }

  /**
   * @param {KeepAliveStream} stream
   * @param {unknown} error
   */
  #onStreamEnd(stream, error) {
    this.#streams.delete(stream);
    if (this.#isOver || this.#stream !== stream) return;
    this.#stream = undefined;
    this.#calls.client.onStreamEnd(stream.connection, error);
    this.#retrySoon();
  }

  #retrySoon() {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#keepAlive(), this.#backoff.next());
  }
}

module.exports = { Lease };
