'use strict';

const { Backoff } = require('../remote/backoff.js');
const { connect } = require('./connection.js');
const { LOCK_NOT_AVAILABLE, QUERY_CANCELED } = require('./postgres-errors.js');
const { clearTimeout, setTimeout } = require('../../time.js');

/** Of advisory locks; see schema.js. */
const SESSION_CLASS = 1_212_368_708;

const WAIT = `
  SELECT pg_advisory_lock_shared(${SESSION_CLASS}, $1),
    pg_advisory_unlock_shared(${SESSION_CLASS}, $1)`;

/** A hand-off that is faster needs no wait for a death, whose begin and end are two calls. */
const DELAY_MS = 10;
/** A connection that was not needed for so long is closed. */
const IDLE_MS = 30_000;
/**
 * A call that waits has a snapshot, and the server keeps all rows of the database that were deleted
 * since: so a wait is begun again after this time.
 */
const MAX_WAIT_MS = 30_000;

/**
 * Waits on a separate connection for the end of another session, whose advisory lock is free
 * then. It is opened when there is something to wait for, and closed when there was nothing for
 * some time. Meanwhile it may wait for the last session: the next wait is often for that one again.
 */
class DeathWatch {
  #options;
  #cancel;
  #onEnd;
  #idleMs;
  #maxWaitMs;
  /** @type {any} a client of pg */
  #client;
  /** The session to wait for; 0: none. */
  #target = 0;
  /** The session of the call that runs. */
  #awaited = 0;
  /** @type {NodeJS.Timeout | undefined} until the target takes effect */
  #timer;
  #isRunning = false;
  #isClosed = false;

  /**
   * @param {import('./postgres-options.js').PostgresOptions} options
   * @param {(pid: number) => void} cancel  what a backend of the server does
   * @param {(session: number) => void} onEnd
   * @param {{ idleMs?: number, maxWaitMs?: number }} [times]
   */
  constructor(options, cancel, onEnd, { idleMs = IDLE_MS, maxWaitMs = MAX_WAIT_MS } = {}) {
    this.#options = options;
    this.#cancel = cancel;
    this.#onEnd = onEnd;
    this.#idleMs = idleMs;
    this.#maxWaitMs = maxWaitMs;
  }

  get target() {
    return this.#target;
  }

  /** @param {number} session  0: none */
  set target(session) {
    if (session === this.#target || this.#isClosed) return;
    this.#target = session;
    this.#setTimer();
  }

  #setTimer() {
    clearTimeout(this.#timer);
    const isIdle = this.#target === 0;
    const act = () => (isIdle ? this.#leave() : this.#begin());
    this.#timer = setTimeout(act, isIdle ? this.#idleMs : DELAY_MS).unref();
  }

  #begin() {
    if (!this.#isRunning) void this.#run();
    else if (this.#awaited !== this.#target) this.#stopCall();
  }

  #leave() {
    this.#stopCall();
    this.#drop();
  }

  #stopCall() {
    if (this.#isRunning && this.#client !== undefined) this.#cancel(this.#client.backendPid);
  }

  close() {
    this.#isClosed = true;
    this.#target = 0;
    clearTimeout(this.#timer);
    this.#drop();
  }

  #drop() {
    this.#client?.connection.stream.destroy();
    this.#client = undefined;
  }

  async #run() {
    this.#isRunning = true;
    const backoff = new Backoff();
    while (this.#target !== 0) {
      const session = this.#target;
      this.#awaited = session;
      try {
        this.#client ??= await this.#connect();
        if (session !== this.#target) continue;
        await this.#client.query(WAIT, [session]);
        if (session !== this.#target) continue;
        this.target = 0;
        this.#onEnd(session);
      } catch (/** @type {any} */ error) {
        if ([QUERY_CANCELED, LOCK_NOT_AVAILABLE].includes(error.code)) continue;
        this.#drop();
        await backoff.pause(); // the sweep finds it, too
      }
    }
    this.#isRunning = false;
    if (!this.#isClosed) this.#setTimer(); // the connection may have opened late
  }

  async #connect() {
    const options = { ...this.#options, isPoolerChecked: true, lockTimeoutMs: this.#maxWaitMs };
    const client = await connect(options, () => {
      if (this.#client === client) this.#client = undefined;
    });
    if (this.#isClosed) client.connection.stream.destroy();
    return client;
  }
}

module.exports = { DeathWatch };
