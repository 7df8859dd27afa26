'use strict';

const { once } = require('node:events');
const { createServer } = require('node:net');

const LOOPBACK = '127.0.0.1';

/**
 * Ports of the loopback interface on which no process listens.
 * @param {number} count
 * @returns {Promise<number[]>}
 */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, LOOPBACK));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => /** @type {any} */ (server.address()).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

module.exports = { LOOPBACK, freePorts };
