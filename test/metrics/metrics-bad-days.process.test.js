'use strict';

const { mkdtempSync, readdirSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const promClient = require('prom-client');
const { openLockManager } = require('../../lib/index.js');
const { LockMetrics } = require('../../lib/metrics/index.js');
const { untilEqual } = require('../support/process-bucket.js');

/** The page of a program with a separate metric, and figures of a lock manager beside it. */
let directory;
let registry;
let manager;
let metrics;

async function openPage(scheme, options = {}) {
  const address = scheme === 'local:' ? {} : { directory };
  manager = openLockManager({ url: scheme, ...address });
  await manager.request('a', () => {});
  metrics = new LockMetrics({ manager, ...options });
  metrics.registerPrometheus(promClient, registry);
}

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  registry = new promClient.Registry();
  new promClient.Gauge({ name: 'app_up', help: 'up', registers: [registry] }).set(1);
});

afterEach(() => {
  metrics.close();
  manager.close();
  rmSync(directory, { recursive: true, force: true });
});

const hasFigures = async () => /^holdfast_locks_held/m.test(await registry.metrics());
const hasOwn = async () => /^app_up 1$/m.test(await registry.metrics());

/** The process id of the broker of this directory. */
function brokerPid() {
  const [folder] = readdirSync(directory).map((name) => path.join(directory, name, 'claims'));
  const claim = readdirSync(folder).find((name) => name.startsWith('broker.'));
  return JSON.parse(readFileSync(path.join(folder, claim), 'utf8')).pid;
}

test.each(['local:', 'shm:', 'broker:'])('%s a closed LockMetrics leaves the page', async (url) => {
  await openPage(url);
  expect(await hasFigures()).toBe(true);
  metrics.close();
  manager.close();
  expect(await hasOwn()).toBe(true);
  expect(registry.getMetricsAsArray()).toHaveLength(1);
  // Its names are free again.
  await openPage(url);
  expect(await hasFigures()).toBe(true);
});

test.each(['bucket', 'process'])('of a %s, the page outlives the manager', async (scope) => {
  await openPage('shm:', { scope });
  manager.close();
  expect(await hasOwn()).toBe(true);
});

test('a stopped broker: the page comes without its figures, and with them afterwards', async () => {
  await openPage('broker:');
  const pid = brokerPid();
  process.kill(pid, 'SIGSTOP');
  try {
    expect(await hasOwn()).toBe(true);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await untilEqual(hasFigures, true);
});

test('a removed table: the figures are back with the next table', async () => {
  await openPage('shm:');
  expect(await hasFigures()).toBe(true);
  const lost = manager.request('b', () => new Promise(() => {})).catch(({ reason }) => reason);
  await manager.query();
  rmSync(directory, { recursive: true });
  expect(await lost).toBe('disconnected');
  expect(await hasOwn()).toBe(true);
  await untilEqual(hasFigures, true);
});

test('a meter gets no figures, and no failure, of a closed LockMetrics', async () => {
  manager = openLockManager({ url: 'local:' });
  metrics = new LockMetrics({ manager });
  const { MeterProvider, MetricReader } = require('@opentelemetry/sdk-metrics');
  class Reader extends MetricReader {
    async onForceFlush() {}
    async onShutdown() {}
  }
  const reader = new Reader();
  metrics.registerOpenTelemetry(new MeterProvider({ readers: [reader] }).getMeter('holdfast'));
  const read = async () => {
    const { resourceMetrics, errors } = await reader.collect();
    const names = resourceMetrics.scopeMetrics.flatMap(({ metrics: list }) => list);
    return { names: names.map(({ descriptor }) => descriptor.name), errors };
  };
  expect((await read()).names).toContain('holdfast.locks_held');
  manager.close();
  expect(await read()).toMatchObject({ errors: [] });
  metrics.close();
  expect(await read()).toMatchObject({ errors: [] });
});
