'use strict';

// Redis servers of our own without persistence: one on a socket in the directory, or some on
// loopback.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { LOOPBACK, freePorts } = require('../harness/free-ports.js');
const { startServer } = require('../harness/server-process.js');

const PROGRAM = 'redis-server';

const whyNoRedis = () =>
  spawnSync(PROGRAM, ['--version']).status === 0 ? undefined : `there is no ${PROGRAM}`;

/** @param {string} directory */
const socketIn = (directory) => path.join(directory, 'redis.sock');

/** @param {string} directory @returns {Promise<import('node:child_process').ChildProcess>} */
async function serveRedis(directory) {
  const socket = socketIn(directory);
  const options = ['--port', '0', '--unixsocket', socket, '--save', '', '--dir', directory];
  const server = startServer(PROGRAM, options);
  while (!fs.existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 5));
  return server;
}

/** @param {string} directory */
const portsIn = (directory) => path.join(directory, 'redis.json');

/**
 * @param {string} directory
 * @param {number} count of servers that know nothing of each other
 */
async function serveOnLoopback(directory, count) {
  const ports = await freePorts(count);
  for (const port of ports) {
    const options = ['--port', String(port), '--bind', LOOPBACK, '--save', '', '--dir', directory];
    startServer(PROGRAM, options);
  }
  fs.writeFileSync(portsIn(directory), JSON.stringify(ports));
  // A client that connects tries until the server listens.
}

/** @param {string} directory */
function connect(directory) {
  const { Redis } = require('ioredis');
  const redis = new Redis({ path: socketIn(directory), maxRetriesPerRequest: null });
  return redis.on('error', () => process.exit(1)); // the server has gone
}

/** One connection to each of the servers on loopback. @param {string} directory */
function connectToAll(directory) {
  const { Redis } = require('ioredis');
  const ports = JSON.parse(fs.readFileSync(portsIn(directory), 'utf8'));
  return ports.map((port) => {
    const redis = new Redis({ host: LOOPBACK, port, maxRetriesPerRequest: null });
    return redis.on('error', () => {}); // it does not listen yet
  });
}

module.exports = { connect, connectToAll, serveOnLoopback, serveRedis, whyNoRedis };
