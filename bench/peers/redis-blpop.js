'use strict';

// The usual lock with Redis that does not poll: a list that holds one token.

const { connect, serveRedis, whyNoRedis } = require('./redis-server.js');

/** @param {string} directory */
async function serve(directory) {
  await serveRedis(directory);
  const redis = connect(directory);
  await redis.rpush('token', '1');
  redis.disconnect();
}

/** @param {import('./peers.js').PeerSetup} setup */
function open({ directory }) {
  const redis = connect(directory);
  const run = async (section) => {
    await redis.blpop('token', 0);
    try {
      return await section();
    } finally {
      await redis.rpush('token', '1');
    }
  };
  return { run, close: () => redis.disconnect() };
}

module.exports = { instances: 2, open, serve, whyNot: whyNoRedis };
