'use strict';

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { openLockManager } = require('../../lib/index.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { startPostgres } = require('../support/remote-servers.js');
const { describeSelfDeadlock } = require('../support/remote-self-deadlock-contract.js');

describeSelfDeadlock(startPostgres);

/** In another thread. */
const HOLDER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { openLockManager } = require(workerData.library);
  const locks = openLockManager({ url: workerData.url });
  locks.request('b', () => {}).then(() => locks.request('a', () => {
    parentPort.postMessage('held');
    return new Promise((resolve) => parentPort.once('message', resolve));
  })).then(() => locks.close());`;

test('a lock of another database is not in the way, though its session has that number', async () => {
  const server = await PostgresServer.start();
  const admin = await server.connect();
  await admin.query('CREATE DATABASE other');
  await admin.end();
  const url = server.url().replace('/postgres', '/other');
  const library = require.resolve('../../lib/index.js');
  // The sessions and the requests have the same numbers.
  const holder = new Worker(HOLDER, { eval: true, workerData: { url, library } });
  await once(holder, 'message');
  const [here, there] = [server.url(), url].map((it) => openLockManager({ url: it }));
  await here.request('b', () => {});
  const held = await here.acquire('a');
  const wait = () => there.requestSync('a', { timeout: 1_500 }, () => 'granted');
  expect(wait).toThrow(expect.objectContaining({ name: 'TimeoutError' }));
  await held.release();
  for (const locks of [here, there]) locks.close();
  holder.postMessage('end');
  await once(holder, 'exit');
  await server.remove();
});
