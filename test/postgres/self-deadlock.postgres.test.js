'use strict';

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { toPostgresOptions } = require('../../lib/backends/postgres/postgres-options.js');
const { PostgresSession } = require('../../lib/backends/postgres/session.js');
const { RemoteRequest } = require('../../lib/backends/remote/lock-session.js');
const { openLockManager } = require('../../lib/index.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { startPostgres } = require('../support/remote-servers.js');
const { describeSelfDeadlock } = require('../support/remote-self-deadlock-contract.js');
const { TcpGate } = require('../support/tcp-gate.js');

describeSelfDeadlock(startPostgres);

test('the check does not read the requests behind the own one', async () => {
  const server = await PostgresServer.start();
  const gate = new TcpGate(server.endpoint);
  await gate.open();
  let bytes = 0;
  gate.change = (data, isOfServer) => {
    if (isOfServer) bytes += data.length;
    return data;
  };
  const { options } = toPostgresOptions(server.url().replace(server.endpoint, gate.endpoint), {});
  const agent = { clientId: 'a', pid: 1, threadId: 0, host: 'a', pidNamespace: '' };
  let queued;
  const host = { onExtended() {}, onGranted() {}, onQueued: (request) => queued(request) };
  const session = new PostgresSession(options, agent, host);
  await session.open();
  const enter = (number) => {
    const message = { number, name: 'a', mode: 'exclusive', steal: false, since: 0 };
    session.enter(new RemoteRequest(message));
    return new Promise((resolve) => (queued = resolve));
  };
  const bytesOfCheck = async (request) => {
    const before = bytes;
    await session.wouldSelfDeadlock(request, []);
    return bytes - before;
  };
  void enter(1);
  const second = await enter(2);
  await bytesOfCheck(second);
  const alone = await bytesOfCheck(second);
  for (let number = 3; number < 30; number += 1) await enter(number);
  expect(await bytesOfCheck(second)).toBe(alone);
  await session.close();
  await gate.close();
  await server.remove();
});

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
