'use strict';

// A Redis server of our own on a socket in the directory, without persistence.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const PROGRAM = 'redis-server';

const whyNoRedis = () =>
  spawnSync(PROGRAM, ['--version']).status === 0 ? undefined : `there is no ${PROGRAM}`;

/** @param {string} directory */
const socketIn = (directory) => path.join(directory, 'redis.sock');

/** @param {string} directory @returns {Promise<import('node:child_process').ChildProcess>} */
async function serveRedis(directory) {
  const socket = socketIn(directory);
  const options = ['--port', '0', '--unixsocket', socket, '--save', '', '--dir', directory];
  const server = spawn(PROGRAM, options, { stdio: 'ignore' });
  process.prependListener('exit', () => server.kill('SIGKILL'));
  while (!fs.existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 5));
  return server;
}

/** @param {string} directory */
function connect(directory) {
  const { Redis } = require('ioredis');
  const redis = new Redis({ path: socketIn(directory), maxRetriesPerRequest: null });
  return redis.on('error', () => process.exit(1)); // the server has gone
}

module.exports = { connect, serveRedis, whyNoRedis };
