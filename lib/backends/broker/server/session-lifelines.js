'use strict';

const net = require('node:net');
const { setTimeout } = require('../../../time.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./session.js').Session} Session */

/**
 * A client by its lifeline.
 * @typedef {object} Client
 * @property {string} lifeline
 * @property {number} [pid]  else the one in the name of its lifeline
 * @property {string} [start]  of its process, where that is needed and known
 * @property {boolean} [isAsked]  to come back, also if it holds nothing
 */

/**
 * After a connect() that neither proves life nor death, as when descriptors are short; twice as
 * long each time.
 */
const RETRY_MS = 200;
const MAX_RETRY_MS = 1000;
/**
 * A client that has ended a connection has no full backlog: a refusal is the proof wherever it
 * runs.
 */
const NO_PROCESS = { pid: 0 };
const COME_BACK = 'come back\n';

/**
 * Checks whether clients live that are not connected, as after the death of an earlier broker. Each
 * client listens on a separate socket. The kernel accepts for the client, also while it is stopped,
 * and closes the connection when it ends. A client without a descriptor left closes the connection,
 * too (libuv does). So the end of a connection only leads to another attempt: only a refusal is
 * the death.
 */
class SessionLifelines {
  /** @type {Map<string, net.Socket>} by lifeline */
  #sockets = new Map();
  #place;
  #onDeath;

  /**
   * @param {BrokerFiles} place
   * @param {(lifeline: string) => void} onDeath
   */
  constructor(place, onDeath) {
    this.#place = place;
    this.#onDeath = onDeath;
  }

  /** @param {Client} client */
  watch(client) {
    if (!this.#sockets.has(client.lifeline)) this.#connect(client, false, RETRY_MS);
  }

  /**
   * A client is connected, and so is known to live.
   * @param {Session} session
   */
  async hasCome(session) {
    this.#unwatch(session.lifeline);
    const { startOf } = this.#place.platform;
    if (startOf === undefined || session.start !== undefined) return;
    const start = await startOf(session.pid);
    // A client that is still connected was the owner of the process id when its start was read.
    if (start !== undefined && !session.isAway && !session.isOver) session.noteStart(start);
  }

  /**
   * @param {Client} client
   * @param {boolean} isAgain  an earlier connection was open, and has ended
   * @param {number} retryMs
   */
  #connect(client, isAgain, retryMs) {
    const { lifeline } = client;
    let isOpen = false;
    /** @type {string | undefined} */
    let code;
    const socket = net.connect(this.#place.lifelinePath(lifeline));
    this.#sockets.set(lifeline, socket);
    socket.on('connect', () => {
      isOpen = true;
      if (client.isAsked) socket.write(COME_BACK);
    });
    socket.on('error', (error) => ({ code } = /** @type {any} */ (error)));
    socket.on('close', async () => {
      const isDead = !isOpen && (await this.#isDead(client, code, isAgain));
      if (this.#sockets.get(lifeline) !== socket) return;
      if (isDead) this.#die(lifeline);
      else if (isOpen && !isAgain) this.#connect(client, true, RETRY_MS);
      else
        setTimeout(() => this.#connectAgain(client, socket, isOpen || isAgain, retryMs), retryMs);
    });
    socket.resume();
  }

  /**
   * @param {Client} client
   * @param {string | undefined} code  of the connect() that has failed
   * @param {boolean} isAgain
   */
  #isDead({ lifeline, pid = this.#place.pidInName(lifeline), start }, code, isAgain) {
    const socket = this.#place.lifelinePath(lifeline);
    return this.#place.isProofOfDeath(code, { socket, ...(isAgain ? NO_PROCESS : { pid, start }) });
  }

  /** @param {string} lifeline */
  #unwatch(lifeline) {
    const socket = this.#sockets.get(lifeline);
    this.#sockets.delete(lifeline);
    socket?.destroy();
  }

  /**
   * @param {Client} client
   * @param {net.Socket} last
   * @param {boolean} isAgain
   * @param {number} retryMs
   */
  #connectAgain(client, last, isAgain, retryMs) {
    if (this.#sockets.get(client.lifeline) !== last) return;
    this.#connect(client, isAgain, Math.min(2 * retryMs, MAX_RETRY_MS));
  }

  /** @param {string} lifeline */
  #die(lifeline) {
    this.#sockets.delete(lifeline);
    this.#onDeath(lifeline);
  }
}

module.exports = { SessionLifelines };
