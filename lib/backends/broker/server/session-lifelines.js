'use strict';

const net = require('node:net');
const { setTimeout } = require('../../../time.js');

/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */

/** After a connect() that neither proves life nor death, as when descriptors are short. */
const RETRY_MS = 200;

/**
 * Do the clients live that an earlier broker knew and that have not come back? Each of them listens
 * on a socket of its own. The kernel accepts for it, also while it is stopped, and closes the
 * connection when it ends. A client without a descriptor left closes it, too (libuv does). So the
 * end of a connection is the time to look once more: only a refusal is the death.
 */
class SessionLifelines {
  /** @type {Map<Session, net.Socket | undefined>} */
  #sockets = new Map();
  #place;
  #onDeath;

  /**
   * @param {BrokerFiles} place
   * @param {(session: Session) => void} onDeath
   */
  constructor(place, onDeath) {
    this.#place = place;
    this.#onDeath = onDeath;
  }

  /** @param {Session} session */
  watch(session) {
    this.#connect(session, false);
  }

  /**
   * @param {Session} session
   * @param {boolean} isAgain  an earlier connection was open, and has ended
   */
  #connect(session, isAgain) {
    let isOpen = false;
    /** @type {string | undefined} */
    let code;
    const socket = net.connect(session.lifeline);
    this.#sockets.set(session, socket);
    socket.on('connect', () => (isOpen = true));
    socket.on('error', (error) => ({ code } = /** @type {any} */ (error)));
    socket.on('close', () => {
      if (this.#sockets.get(session) !== socket) return;
      // Who has ended a connection has no full backlog: a refusal is the proof wherever it runs.
      const pid = isAgain ? 0 : session.pid;
      if (!isOpen && this.#place.isProofOfDeath(code, pid)) this.#die(session);
      else if (isOpen && !isAgain) this.#connect(session, true);
      else setTimeout(() => this.#connectAgain(session, isOpen || isAgain), RETRY_MS);
    });
    socket.resume();
  }

  /** @param {Session} session  has come back */
  unwatch(session) {
    const socket = this.#sockets.get(session);
    this.#sockets.delete(session);
    socket?.destroy();
  }

  /**
   * @param {Session} session
   * @param {boolean} isAgain
   */
  #connectAgain(session, isAgain) {
    if (this.#sockets.has(session)) this.#connect(session, isAgain);
  }

  /** @param {Session} session */
  #die(session) {
    this.#sockets.delete(session);
    this.#onDeath(session);
  }
}

module.exports = { SessionLifelines };
