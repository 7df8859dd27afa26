'use strict';

const { openLockManager } = require('../../lib/index.js');
const { PostgresCluster } = require('../support/postgres-cluster.js');
const { ClusterGate } = require('../support/tcp-gate.js');

// A standby by streaming replication takes the place of the primary while locks are held. The URLs
// name both servers.

const TTL_S = 3;

let cluster;
let gate;
const opened = [];
beforeEach(async () => {
  cluster = await PostgresCluster.start({ hasStandby: true });
});
afterEach(async () => {
  for (const locks of opened.splice(0)) locks.close();
  await gate?.close();
  gate = undefined;
  await cluster.stop();
});

function open(url = cluster.url('', `?ttl=${TTL_S}`)) {
  const locks = openLockManager({ url });
  opened.push(locks);
  return locks;
}

/** The standby has all that the primary has written. */
async function untilFollowing() {
  const caughtUp = 'SELECT FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()';
  while ((await cluster.insist(caughtUp)).length === 0);
}

test('a holder has lost its lock, the waiters have it in their order, tokens rise', async () => {
  const [holder, waiter] = [open(), open()];
  const held = await holder.acquire('a');
  const order = [];
  const waits = [1, 2, 3].map((number) =>
    waiter.request('a', ({ token }) => {
      order.push([number, held.signal.aborted, token > held.token]);
    }),
  );
  while ((await waiter.query()).pending.length < 3);
  await cluster.failOver();
  await Promise.all(waits);
  expect(order).toEqual([1, 2, 3].map((number) => [number, true, true]));
  expect(held.signal.reason).toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
});

test('a holder that is cut off has lost its lock before a waiter has it', async () => {
  gate = await ClusterGate.open(cluster);
  const held = await open(gate.url('', '?ttl=6')).acquire('a');
  const waiter = open(cluster.url('', '?ttl=2'));
  const granted = waiter.request('a', ({ token }) => [held.signal.aborted, token > held.token]);
  while ((await waiter.query()).pending.length === 0);
  await untilFollowing();
  gate.shut();
  await cluster.failOver();
  expect(await granted).toEqual([true, true]);
});

test('the new primary is followed in turn: locks work, and tokens rise', async () => {
  const locks = open();
  const tokens = [];
  for (let round = 0; round < 3; round += 1) {
    tokens.push(await locks.request('a', ({ token }) => token));
    await cluster.failOver();
  }
  tokens.push(await locks.request('a', ({ token }) => token));
  expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
  expect(new Set(tokens).size).toBe(4);
});

test('the standby is passed over as long as it is one', async () => {
  const [primary, standby] = cluster.endpoints;
  const locks = open(cluster.urlOf([standby, primary], '', `?ttl=${TTL_S}`));
  expect(await locks.request('a', () => 'granted')).toBe('granted');
  const alone = open(cluster.urlOf([standby], '', `?ttl=${TTL_S}`));
  const late = alone.request('a', { timeout: 500 }, () => {});
  await expect(late).rejects.toMatchObject({
    name: 'TimeoutError',
    message: expect.stringContaining('a standby'),
  });
  const granted = alone.request('a', () => 'granted');
  await cluster.failOver();
  expect(await granted).toBe('granted');
});
