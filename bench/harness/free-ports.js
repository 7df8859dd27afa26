'use strict';

const { once } = require('node:events');
const { createServer } = require('node:net');

const LOOPBACK = '127.0.0.1';

/**
 * So many ports of the loopback interface that nobody listens on.
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
