'use strict';

const promClient = require('prom-client');
const { openLockManager } = require('../../lib/index.js');
const { LockMetrics } = require('../../lib/metrics/index.js');

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {() => Promise<any>} startServer  see remote-servers.js */
function describeMetrics(startServer) {
  let cluster;
  let locks;
  let metrics;
  beforeEach(async () => {
    cluster = await startServer();
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

  const hasSession = ({ session }) => session.connected;

  test('the session is measured: its validity, its round trips', async () => {
    const before = await collectUntil(hasSession);
    await locks.request('a', async () => {
      const data = await collectUntil(({ held }) => held === 1);
      expect(data.session.roundTrips).toBeGreaterThan(before.session.roundTrips);
      expect(data.session.roundTripMs).toBeGreaterThan(before.session.roundTripMs);
    });
    const { session } = await collectUntil((data) => data.session.keepAlives > 0);
    expect(session.leaseLeftMs).toBeGreaterThan(0);
    expect(session.leaseLeftMs).toBeLessThanOrEqual(10_000 * 0.9);
    expect(session).toMatchObject({ requests: 0, sessions: 1, lost: 0 });
    const page = await metrics.toPrometheus();
    expect(page).toMatch(/^holdfast_session_connected\{bucket="default"\} 1$/m);
    expect(page).toMatch(/^# TYPE holdfast_session_round_trips_total counter$/m);
    expect(page).toMatch(/^holdfast_session_lease_left_seconds\{bucket="default"\} [\d.]+$/m);
  });

  test('without a session the figures still come: not connected, unknown what is held', async () => {
    await collectUntil(hasSession);
    await cluster.kill();
    const data = await collectUntil(({ session }) => !session.connected);
    expect(data).toMatchObject({ held: NaN, waiting: NaN, session: { lost: 1 } });
    const registry = new promClient.Registry();
    metrics.registerPrometheus(promClient, registry);
    const page = await registry.metrics();
    expect(page).toMatch(/^holdfast_session_connected\{bucket="default"\} 0$/m);
    expect(page).toMatch(/^holdfast_session_losses_total\{bucket="default"\} 1$/m);
    expect(page).toMatch(/^holdfast_locks_held\{bucket="default"\} Nan$/m);
    await cluster.startAgain();
    const after = await collectUntil(hasSession);
    expect(after).toMatchObject({ held: 0, waiting: 0, session: { lost: 1, sessions: 2 } });
  });

  test('metrics that begin while the server is away count when it is there', async () => {
    await cluster.kill();
    const late = openLockManager({ url: cluster.url('metrics', '?ttl=2'), bucket: 'late' });
    const lateMetrics = new LockMetrics({ manager: late });
    try {
      expect(await lateMetrics.collect()).toMatchObject({
        held: NaN,
        session: { connected: false },
      });
      await cluster.startAgain();
      await late.request('a', () => {});
      let data = await lateMetrics.collect();
      while (!data.session.connected) data = await lateMetrics.collect();
      expect(data.held).toBe(0);
    } finally {
      lateMetrics.close();
      late.close();
    }
  });
}

module.exports = { describeMetrics };
