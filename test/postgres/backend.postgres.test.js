'use strict';

const { openPostgresBackend } = require('../../lib/backends/postgres/backend.js');
const { describeBackendContract } = require('../support/backend-contract.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { SyncedBackend } = require('../support/synced-backend.js');

let server;
let count = 0;

beforeAll(async () => {
  server = await PostgresServer.start();
});
afterAll(() => server.remove());

function openTwo() {
  count += 1;
  const open = () => {
    const backend = new SyncedBackend(
      openPostgresBackend(server.url(), { bucket: `contract-${count}` }),
    );
    backend.isLocked('contract: has a session'); // no test measures how long that takes
    return backend;
  };
  return { first: open(), second: open() };
}

describeBackendContract('PostgreSQL', openTwo, { most: 300, comfortableMs: 5_000 });
