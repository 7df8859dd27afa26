'use strict';

const { PostgresServer } = require('./postgres-server.js');

/** Before a run of Jest: a server, whose URL the tests find in the environment. */
module.exports = async () => {
  globalThis.postgresServer = await PostgresServer.start({ maxConnections: 300 });
  process.env.HOLDFAST_TEST_POSTGRES = globalThis.postgresServer.url();
};
