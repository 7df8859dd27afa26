'use strict';

const { connect, serveRedis, whyNoRedis } = require('./redis-server.js');

/** @param {import('./peers.js').Place} place */
function open({ directory, name }) {
  const Redlock = require('redlock');
  const redis = connect(directory);
  const locks = new Redlock([redis], { retryCount: 100_000, retryDelay: 1, retryJitter: 1 });
  const run = async (section) => {
    const lock = await locks.lock(name, 10_000);
    try {
      return await section();
    } finally {
      await lock.unlock();
    }
  };
  return { run, close: () => redis.disconnect() };
}

module.exports = { open, serve: serveRedis, whyNot: whyNoRedis };
