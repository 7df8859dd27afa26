'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { newLifeline, removeLifeline } = require('./lifeline-files.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

const PRIVATE_FILE = 0o600;

/**
 * A socket that listens as long as this thread lives. A broker that comes up while the thread is
 * blocked or stopped connects to it: the kernel accepts, and tells of the end.
 */
class Lifeline {
  name;
  #place;
  #server;
  /** @type {Set<net.Socket>} */
  #brokers = new Set();

  /**
   * @param {BrokerFiles} place
   * @param {() => void} onAsked  a broker has to know what this client holds
   * @throws DOMException when it cannot listen: then nothing would show that this thread lives
   */
  constructor(place, onAsked) {
    this.#place = place;
    const { name, listenAt, publish } = newLifeline(place);
    this.name = name;
    this.#server = net.createServer((socket) => {
      socket.unref();
      this.#brokers.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#brokers.delete(socket));
      socket.on('data', onAsked);
    });
    this.#server.on('error', () => {}); // publish() finds no socket
    // It listens when this returns. Not by way of the primary process of a cluster.
    this.#server.listen({ path: listenAt, exclusive: true });
    this.#server.unref();
    try {
      if (place.platform.hasModes) fs.chmodSync(listenAt, PRIVATE_FILE);
      publish();
    } catch (error) {
      this.close();
      throw notMade(place.lifelinesFolder, error);
    }
  }

  close() {
    this.#server.close();
    for (const socket of this.#brokers) socket.destroy();
    try {
      removeLifeline(this.#place, this.name);
    } catch (error) {
      // Of the user that this process was before: a broker removes it.
      if (!['EACCES', 'EPERM'].includes(/** @type {any} */ (error).code)) throw error;
    }
  }
}

/**
 * @param {string} folder
 * @param {unknown} cause
 */
function notMade(folder, cause) {
  const { message } = /** @type {Error} */ (cause);
  const why = `no room for a socket in ${folder}, or too many open files (${message})`;
  return new DOMException(`The client cannot show that it lives: ${why}`, 'QuotaExceededError');
}

module.exports = { Lifeline };
