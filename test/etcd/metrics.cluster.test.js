'use strict';

const { openLockManager } = require('../../lib/index.js');
const { LockMetrics } = require('../../lib/metrics/index.js');
const { describeMetrics } = require('../support/remote-metrics-contract.js');
const { startEtcd } = require('../support/remote-servers.js');

describeMetrics(startEtcd);

test('the metrics of a session show its lease, calls that failed and watches', async () => {
  const cluster = await startEtcd();
  const locks = openLockManager({ url: cluster.url('metrics') });
  const metrics = new LockMetrics({ manager: locks });
  await locks.query();
  const { session } = await metrics.collect();
  expect(session.lease).toMatch(/^[0-9a-f]{16}$/);
  expect(session.leaseAgeMs + session.leaseLeftMs).toBeCloseTo(10_000 * 0.9, -2);
  expect(session).toMatchObject({ failures: 0, watch: { reconnects: 0 } });
  const page = await metrics.toPrometheus();
  expect(page).toMatch(/^holdfast_session_lease_age_seconds\{bucket="default"\} [\d.]+$/m);
  expect(page).toMatch(/^holdfast_session_reconnects_total\{bucket="default"\} 0$/m);
  metrics.close();
  locks.close();
  await cluster.stop();
});
