'use strict';

const net = require('node:net');
const { newBrokerSocket } = require('../broker-sockets.js');
const { lazy } = require('../../../lazy.js');
const { setImmediate } = require('../../../time.js');
const { machineNow } = require('../machine-clock.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */

/**
 * Calls back when the event loop has read all that other processes had written before `since`.
 * @typedef {(callback: (since: number) => void) => void} ReadingBarrier
 */

/**
 * Node and Bun read all connections between two immediates.
 * @returns {ReadingBarrier}
 */
function openImmediateBarrier() {
  let readingSince = machineNow();
  return (callback) => {
    setImmediate(() => {
      callback(readingSince);
      readingSince = machineNow();
    });
  };
}

/**
 * Deno runs immediates before it has read its connections. It asks the kernel for the end of a new
 * connection, and receives everything that became readable before together with it. An old
 * connection is not enough: Deno may take it for readable since its last poll.
 * @param {BrokerFiles} place
 * @returns {ReadingBarrier}
 */
function openConnectionBarrier(place) {
  // Not before the first use: a broker that begins removes the sockets that it finds.
  const open = lazy(() => listen(newBrokerSocket(place)));
  return async (callback) => {
    const name = await open();
    const since = machineNow();
    const socket = net.connect(name);
    socket.on('error', () => socket.destroy()); // 'close' follows
    socket.on('close', () => callback(since));
    socket.resume();
  };
}

/**
 * Ends every connection at once.
 * @param {string} name
 * @returns {Promise<string>} the name, when it listens
 */
function listen(name) {
  return new Promise((resolve) => {
    const server = net.createServer((socket) => socket.destroy());
    server.listen({ path: name, exclusive: true }, () => resolve(name));
    server.unref(); // a broker has another reason to stay
  });
}

/**
 * @param {BrokerFiles} place
 * @returns {ReadingBarrier}
 */
const openReadingBarrier = (place) =>
  process.versions.deno === undefined ? openImmediateBarrier() : openConnectionBarrier(place);

module.exports = { openConnectionBarrier, openReadingBarrier };
