'use strict';

const net = require('node:net');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * A socket that listens as long as this thread lives. A broker that comes up while the thread is
 * blocked or stopped connects to it: the kernel accepts, and tells of the end.
 */
class Lifeline {
  name;
  #server;
  /** @type {Set<net.Socket>} */
  #brokers = new Set();

  /** @param {BrokerFiles} place */
  constructor(place) {
    this.name = place.newSocketName(place.lifelinesFolder);
    this.#server = net.createServer((socket) => {
      socket.unref();
      this.#brokers.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#brokers.delete(socket));
      socket.resume();
    });
    /** @type {Error | undefined} */
    this.error = undefined;
    this.#server.on('error', (error) => {
      this.error = error;
    });
    // It listens when this returns. Not by way of the primary process of a cluster.
    this.#server.listen({ path: this.name, exclusive: true });
    this.#server.unref();
  }

  close() {
    this.#server.close();
    for (const socket of this.#brokers) socket.destroy();
  }
}

module.exports = { Lifeline };
