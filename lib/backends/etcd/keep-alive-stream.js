'use strict';

const { steadyNow } = require('./steady-clock.js');

/** @typedef {import('./connection.js').Connection} Connection */

/**
 * @typedef {object} KeepAliveHost
 * @property {(sentAt: number, ttlMs: number) => void} onAnswer  sentAt: of its question
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
  lastAskedAt = steadyNow();
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

  /** A question has no answer yet. */
  get isSilent() {
    return this.#sent.length > 0;
  }

  /** @param {string} lease */
  ask(lease) {
    this.lastAskedAt = steadyNow();
    this.#sent.push(this.lastAskedAt);
    this.#stream.write({ ID: lease });
  }

  /** No further question will come; it ends with the last answer. */
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

module.exports = { KeepAliveStream };
