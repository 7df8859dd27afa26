'use strict';

// No lock at all: a line of the length of a request goes to another process over a Unix socket, and
// comes back. The least cost of a lock whose state another process keeps.

const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { startProgram } = require('../harness/programs.js');

const LINE = '["q",123456,"ledger",0,123456789.123456,null]\n';

/** @param {string} directory */
const socketIn = (directory) => path.join(directory, 'echo.sock');

/**
 * @param {string} directory
 * @param {string[]} notes  a file for all that comes
 */
async function serveEcho(directory, ...notes) {
  const { child } = await startProgram('echo', [socketIn(directory), ...notes]);
  process.prependListener('exit', () => child.kill('SIGKILL'));
}

/** @param {string} directory */
const serve = (directory) => serveEcho(directory);

/** @param {import('./peers.js').PeerSetup} setup */
async function openEcho({ directory }) {
  const socket = net.connect(socketIn(directory));
  await once(socket, 'connect');
  socket.setEncoding('utf8');
  let onLine = () => {};
  socket.on('data', () => onLine());
  const run = async (section) => {
    await new Promise((resolve) => {
      onLine = () => resolve(undefined);
      socket.write(LINE);
    });
    return section();
  };
  return { run, close: () => socket.destroy() };
}

module.exports = { open: openEcho, openEcho, serve, serveEcho };
