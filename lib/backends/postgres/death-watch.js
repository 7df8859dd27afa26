'use strict';

const { Backoff } = require('../remote/backoff.js');
const { connect } = require('./connection.js');
const { QUERY_CANCELED } = require('./postgres-errors.js');

/** Of advisory locks; see schema.js. */
const SESSION_CLASS = 1_212_368_708;

const WAIT = `
  SELECT pg_advisory_lock_shared(${SESSION_CLASS}, $1),
    pg_advisory_unlock_shared(${SESSION_CLASS}, $1)`;

/**
 * Waits on a separate connection for the end of another session, whose advisory lock is free
 * then. It is opened when there is something to wait for.
 */
class DeathWatch {
  #options;
  #cancel;
  #onEnd;
  /** @type {any} a client of pg */
  #client;
  /** The session to wait for; 0: none. */
  #target = 0;
  #isRunning = false;
  #isClosed = false;

  /**
   * @param {import('./postgres-options.js').PostgresOptions} options
   * @param {(pid: number) => void} cancel  what a backend of the server does
   * @param {(session: number) => void} onEnd
   */
  constructor(options, cancel, onEnd) {
    this.#options = options;
    this.#cancel = cancel;
    this.#onEnd = onEnd;
  }

  get target() {
    return this.#target;
  }

  /** @param {number} session  0: none */
  set target(session) {
    if (session === this.#target || this.#isClosed) return;
    this.#target = session;
    if (this.#isRunning && this.#client !== undefined) this.#cancel(this.#client.processID);
    if (!this.#isRunning && session !== 0) void this.#run();
  }

  close() {
    this.#isClosed = true;
    this.#target = 0;
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
      try {
        this.#client ??= await this.#connect();
        if (session !== this.#target) continue;
        await this.#client.query(WAIT, [session]);
        if (session !== this.#target) continue;
        this.#target = 0;
        this.#onEnd(session);
      } catch (/** @type {any} */ error) {
        if (error.code === QUERY_CANCELED) continue;
        this.#drop();
        await backoff.pause(); // the sweep finds it, too
      }
    }
    this.#isRunning = false;
  }

  async #connect() {
    const client = await connect(this.#options, () => {
      if (this.#client === client) this.#client = undefined;
    });
    await client.query(
      "SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false)",
    );
    if (this.#isClosed) client.connection.stream.destroy();
    return client;
  }
}

module.exports = { DeathWatch };
