'use strict';

const net = require('node:net');

/** @typedef {import('./broker.js').Broker} Broker */

/**
 * @param {Broker} broker
 * @param {string} socket
 * @returns {Promise<net.Server>} that listens
 */
function listen(broker, socket) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((connection) => broker.accept(connection));
    server.once('error', reject);
    server.listen({ path: socket, exclusive: true }, () => resolve(server));
  });
}

module.exports = { listen };
