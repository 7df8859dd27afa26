'use strict';

const promClient = require('prom-client');
const { openLockManager } = require('../../lib/index.js');
const { LockMetrics } = require('../../lib/metrics/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');

let cluster;
let locks;
let metrics;
beforeEach(async () => {
  cluster = await EtcdCluster.start();
  locks = openLockManager({ url: cluster.url('metrics') });
  metrics = new LockMetrics({ manager: locks });
});
afterEach(async () => {
  metrics.close();
  locks.close();
  await cluster.stop();
});

/** The figures, as soon as they are like this. */
async function collectUntil(condition) {
  for (;;) {
    const data = await metrics.collect();
    if (condition(data)) return data;
    await sleep(50);
  }
}

const hasSession = ({ session }) => session.lease !== '';

test('the session is measured: its lease, its round trips', async () => {
  const before = await collectUntil(hasSession);
  await locks.request('a', async () => {
    const data = await collectUntil(({ held }) => held === 1);
    expect(data.session.roundTrips).toBeGreaterThan(before.session.roundTrips);
    expect(data.session.roundTripMs).toBeGreaterThan(before.session.roundTripMs);
  });
  const { session } = await collectUntil((data) => data.session.keepAlives > 3);
  expect(session.lease).toMatch(/^[0-9a-f]{16}$/);
  expect(session.leaseAgeMs + session.leaseLeftMs).toBeCloseTo(10_000 * 0.9, -2);
  expect(session.lost).toBe(0);
  expect(session.watch.reconnects).toBe(0);
  const page = await metrics.toPrometheus();
  expect(page).toMatch(/^holdfast_session_connected\{bucket="default"\} 1$/m);
  expect(page).toMatch(/^# TYPE holdfast_session_round_trips_total counter$/m);
  expect(page).toMatch(/^holdfast_session_lease_age_seconds\{bucket="default"\} [\d.]+$/m);
});

test('without a session the figures still come: not connected, unknown what is held', async () => {
  await collectUntil(hasSession);
  const [member] = cluster.members;
  await member.kill();
  const data = await collectUntil(({ session }) => session.lease === '');
  expect(data).toMatchObject({ held: NaN, waiting: NaN, session: { lost: 1, leaseLeftMs: 0 } });
  const registry = new promClient.Registry();
  metrics.registerPrometheus(promClient, registry);
  const page = await registry.metrics();
  expect(page).toMatch(/^holdfast_session_connected\{bucket="default"\} 0$/m);
  expect(page).toMatch(/^holdfast_session_losses_total\{bucket="default"\} 1$/m);
  expect(page).toMatch(/^holdfast_locks_held\{bucket="default"\} Nan$/m);
  member.start(cluster.members, 'existing');
  const after = await collectUntil(hasSession);
  expect(after).toMatchObject({ held: 0, waiting: 0, session: { lost: 1, sessions: 2 } });
  expect(after.session.failures).toBeGreaterThan(0);
});

test('metrics that begin while the cluster is away count when it is there', async () => {
  const [member] = cluster.members;
  await member.kill();
  const late = openLockManager({ url: cluster.url('metrics', '?ttl=2'), bucket: 'late' });
  const lateMetrics = new LockMetrics({ manager: late });
  try {
    expect(await lateMetrics.collect()).toMatchObject({ held: NaN, session: { lease: '' } });
    member.start(cluster.members, 'existing');
    await late.request('a', () => {});
    let data = await lateMetrics.collect();
    while (data.session.lease === '') data = await lateMetrics.collect();
    expect(data.held).toBe(0);
  } finally {
    lateMetrics.close();
    late.close();
  }
});
