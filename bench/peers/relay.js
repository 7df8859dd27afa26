'use strict';

// A turn that is passed on by another process of Node over Unix sockets, one letter a message. No
// names, no modes, no confirmation of a release, and nothing survives a death. The least cost of a
// hand-over whose state another process of Node keeps.

const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { startProgram } = require('../harness/programs.js');

/** @param {string} directory */
const socketIn = (directory) => path.join(directory, 'relay.sock');

/** @param {string} directory */
async function serve(directory) {
  const { child } = await startProgram('relay', [socketIn(directory)]);
  process.prependListener('exit', () => child.kill('SIGKILL'));
}

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory }) {
  const socket = net.connect(socketIn(directory));
  await once(socket, 'connect');
  socket.setEncoding('latin1');
  const turns = [];
  socket.on('data', (text) => {
    for (let i = 0; i < text.length; i += 1) turns.shift()();
  });
  const acquire = () =>
    new Promise((resolve) => {
      turns.push(resolve);
      socket.write('q');
    });
  const run = async (section) => {
    await acquire();
    const result = section();
    socket.write('r');
    return result;
  };
  return { acquire, run, close: () => socket.destroy() };
}

module.exports = { open, serve };
