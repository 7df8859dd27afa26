'use strict';

const {
  connect,
  connectToAll,
  serveOnLoopback,
  serveRedis,
  whyNoRedis,
} = require('./redis-server.js');

const LIFETIME_MS = 60_000;

/**
 * @param {any[]} servers connections
 * @param {string} name
 */
function openOver(servers, name) {
  const Redlock = require('redlock');
  const locks = new Redlock(servers, { retryCount: 100_000, retryDelay: 1, retryJitter: 1 });
  const runNamed = async (any, section) => {
    const lock = await locks.lock(any, LIFETIME_MS);
    try {
      return await section();
    } finally {
      await lock.unlock();
    }
  };
  const close = () => servers.forEach((redis) => redis.disconnect());
  return { run: (section) => runNamed(name, section), runNamed, close };
}

/** @param {import('./peers.js').PeerSetup} setup */
const open = ({ directory, name }) => openOver([connect(directory)], name);

/** The same over some servers on loopback. @param {number} count */
const onLoopback = (count) => ({
  open: ({ directory, name }) => openOver(connectToAll(directory), name),
  serve: (directory) => serveOnLoopback(directory, count),
  whyNot: whyNoRedis,
});

module.exports = { onLoopback, open, serve: serveRedis, whyNot: whyNoRedis };
