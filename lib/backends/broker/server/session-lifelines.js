'use strict';

const net = require('node:net');
const { setTimeout } = require('../../../time.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */

/**
 * A client by its lifeline.
 * @typedef {object} Client
 * @property {string} lifeline
 * @property {number} [pid]  without it, a refusal proves nothing where that needs the end of the
 *   process as well
 * @property {boolean} [isAsked]  to come back, also if it holds nothing
 */

/** After a connect() that neither proves life nor death, as when descriptors are short. */
const RETRY_MS = 200;
const COME_BACK = 'come back\n';

/**
 * Do the clients live that are not connected, as after the death of an earlier broker? Each of them
 * listens on a socket of its own. The kernel accepts for it, also while it is stopped, and closes
 * the connection when it ends. A client without a descriptor left closes it, too (libuv does). So
 * the end of a connection is the time to look once more: only a refusal is the death.
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
    if (!this.#sockets.has(client.lifeline)) this.#connect(client, false);
  }

  /**
   * @param {Client} client
   * @param {boolean} isAgain  an earlier connection was open, and has ended
   */
  #connect(client, isAgain) {
    const { lifeline } = client;
    let isOpen = false;
    /** @type {string | undefined} */
    let code;
    const socket = net.connect(lifeline);
    this.#sockets.set(lifeline, socket);
    socket.on('connect', () => {
      isOpen = true;
      if (client.isAsked) socket.write(COME_BACK);
    });
    socket.on('error', (error) => ({ code } = /** @type {any} */ (error)));
    socket.on('close', () => {
      if (this.#sockets.get(lifeline) !== socket) return;
      // Who has ended a connection has no full backlog: a refusal is the proof wherever it runs.
      const pid = isAgain ? 0 : (client.pid ?? process.pid);
      if (!isOpen && this.#place.isProofOfDeath(code, pid)) this.#die(lifeline);
      else if (isOpen && !isAgain) this.#connect(client, true);
      else setTimeout(() => this.#connectAgain(client, socket, isOpen || isAgain), RETRY_MS);
    });
    socket.resume();
  }

  /** @param {string} lifeline  of a client that is connected */
  unwatch(lifeline) {
    const socket = this.#sockets.get(lifeline);
    this.#sockets.delete(lifeline);
    socket?.destroy();
  }

  /**
   * @param {Client} client
   * @param {net.Socket} last
   * @param {boolean} isAgain
   */
  #connectAgain(client, last, isAgain) {
    if (this.#sockets.get(client.lifeline) === last) this.#connect(client, isAgain);
  }

  /** @param {string} lifeline */
  #die(lifeline) {
    this.#sockets.delete(lifeline);
    this.#onDeath(lifeline);
  }
}

module.exports = { SessionLifelines };
